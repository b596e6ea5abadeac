"""The Python of docs/publishing.md, in a transaction of an application's own."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from restante.errors import RecipientRefused
from restante.inbox import message, producer_of, publish
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import tenant as tenants
from tests.docs.pages import ROOT, blocks
from tests.factories import make_tenant
from tests.support.databases import TestDatabase

PROGRAM, REFUSALS = [
    block.text for block in blocks(ROOT / "docs" / "publishing.md") if block.language == "python"
]
SERVICE, AGENT = "svc_0198c5a1f3dc7a19a1b3c5d7e9f01234", "agt_0198c5a1f3dc7a19a1b3c5d7e9f01235"

IMPORT = "from sqlalchemy.orm import Session\n"


class OrderIsKept(Session):
    """Stands for the application's: what it adds is a row of its own."""

    def add(self, instance: Any, **_: Any) -> None:
        self.execute(update(tenants).values(name=instance))


def run(program: str, database: TestDatabase) -> None:
    assert program.startswith(IMPORT)
    code = compile(program.removeprefix(IMPORT), "docs/publishing.md", "exec")
    exec(code, {"Session": OrderIsKept, "your_engine": database.engine, "order": "an order"})  # noqa: S102 - our own page


def test_the_order_and_its_event_are_there_together(database: TestDatabase) -> None:
    tenant = make_tenant(database, "shop")
    mail = tenant.agent()
    known = PROGRAM.replace(SERVICE, encode_id(Prefix.SERVICE, tenant.service.id))
    with pytest.raises(RecipientRefused):
        run(known, database)
    assert names(database) == [tenant.id.hex()]
    run(known.replace(AGENT, encode_id(Prefix.AGENT, mail.id)), database)
    assert names(database) == ["an order"]
    assert mail.take_one("shop").told["payload"] == {"type": "order_received", "order": 103}


def test_what_is_refused_says_its_fields_and_ids_are_as_callers_know_them(
    database: TestDatabase, capsys: pytest.CaptureFixture[str]
) -> None:
    tenant = make_tenant(database, "shop")
    mail = tenant.agent()
    here: dict[str, Any] = {"message": message, "publish": publish}
    exec(compile(REFUSALS, "docs/publishing.md", "exec"), here)  # noqa: S102 - our own page
    with Session(database.engine) as session, session.begin():
        producer = producer_of(session, encode_id(Prefix.SERVICE, tenant.service.id))
        known = [encode_id(Prefix.AGENT, mail.id)]
        assert here["announce"](session, producer, [AGENT], {"type": "order"}) is None
        assert AGENT in capsys.readouterr().out
        assert here["announce"](session, producer, known, {"type": 7}) is None
        assert "/type" in capsys.readouterr().out
        (event_id,) = here["announce"](session, producer, known, {"type": "order"})
    assert mail.take_one("shop").told["event_id"] == event_id


def names(database: TestDatabase) -> list[str]:
    with Session(database.engine) as session:
        return list(session.execute(tenants.select().with_only_columns(tenants.c.name)).scalars())

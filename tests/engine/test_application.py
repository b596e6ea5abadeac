"""An application with an engine and a session of its own, under each isolation it may have."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, update
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from restante.errors import (
    InsufficientScope,
    NotFound,
    PayloadTooLarge,
    RecipientRefused,
    ValidationFailed,
)
from restante.inbox import Published, message, producer_of, publish
from restante.inbox.lifecycle import Gate
from restante.storage.tables.identity import granted_scope, principal
from restante.storage.tables.identity import tenant as tenants
from tests.engine.snapshot import unchanged
from tests.factories import Mailbox, Tenant
from tests.support.databases import TestDatabase


@pytest.fixture(params=["READ COMMITTED", "REPEATABLE READ"])
def engine(database: TestDatabase, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """As an application makes it, knowing nothing of ours."""
    if database.kind == "sqlite":
        if request.param == "REPEATABLE READ":
            pytest.skip("SQLite has one isolation")
        made = create_engine(database.url)
    else:
        url = make_url(database.url).set(drivername="mysql+pymysql")
        made = create_engine(url, isolation_level=request.param)
    yield made
    made.dispose()


def put(session: Session, mail: Mailbox, **members: Any) -> Published:
    said = {"project": "p", "payload": {"type": "t", "n": 1}} | members
    by = producer_of(session, mail.tenant.service.public_id)
    (published,) = publish(session, by, [message([mail.agent.public_id], **said)])
    return published


def rename(session: Session) -> None:
    """The application's own change."""
    session.execute(update(tenants).values(name="new"))


def test_what_it_changes_and_what_it_says_are_one(engine: Engine, mail: Mailbox) -> None:
    with unchanged(mail.database), Session(engine) as session:
        rename(session)
        put(session, mail)
        session.rollback()
    with Session(engine) as session, session.begin():
        rename(session)
        first, second = put(session, mail), put(session, mail, ordering_key="k")
        assert first.sequence_number is None
    assert (first.sequence_number, second.sequence_number) == (1, 2)
    told = [event.told for event in mail.take()]
    assert [t["payload"] for t in told] == [{"type": "t", "n": 1}] * 2
    assert told[0]["producer"]["id"] == mail.tenant.service.public_id
    assert told[0]["producer"]["signed"] is False


def test_what_others_commit_after_its_snapshot_is_not_lost(engine: Engine, mail: Mailbox) -> None:
    """Numbers, keys and what is superseded are those of the moment of the commit."""
    if mail.database.kind == "sqlite":
        pytest.skip("it has one writer: nobody commits in between")
    old = mail.publish(supersedes_key="s", ordering_key="k")
    with Session(engine) as session:
        mine = put(session, mail, supersedes_key="s", ordering_key="k")
        waits = mail.publish(ordering_key="k")
        newer = mail.publish(supersedes_key="s")
        session.commit()
    assert mine.sequence_number == 4
    gates = [mail.gate(e.event_id) for e in (old, newer, waits, mine)]
    assert gates == [Gate.CANCELLED, Gate.CANCELLED, Gate.CLAIMABLE, Gate.WAITING]


def test_many_at_once_number_densely(
    engine: Engine, mail: Mailbox, each_in_a_thread: Callable[..., None]
) -> None:
    def work(_: int) -> None:
        for _ in range(5):
            with Session(engine) as session, session.begin():
                put(session, mail)

    each_in_a_thread(work, 1 if mail.database.kind == "sqlite" else 3)
    head = mail.inbox_row().head
    assert sorted(event.told["sequence_number"] for event in mail.take(limit=50)) == list(
        range(1, head + 1)
    )


@pytest.fixture
def each_in_a_thread() -> Callable[..., None]:
    def run(work: Callable[[int], None], times: int) -> None:
        with ThreadPoolExecutor(times) as pool:
            list(pool.map(work, range(times)))

    return run


def test_it_is_what_the_package_gives() -> None:
    """In whatever order its modules are imported."""
    for first in ("restante.inbox", "restante.inbox.publish", "restante.inbox.claim"):
        code = f"import {first}; from restante.inbox import publish; assert callable(publish)"
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_a_producer_is_what_it_is_now(mail: Mailbox, tenant: Tenant) -> None:
    with Session(mail.database.engine) as session:
        agent = producer_of(session, mail.agent.public_id)
        assert (agent.kind, agent.name, agent.scopes) == (
            "agent",
            mail.agent.name,
            mail.agent.scopes,
        )
        for name in ("svc_" + "0" * 32, "evt_" + "0" * 32, "", "svc_" + mail.id.hex()):
            with pytest.raises(NotFound):
                producer_of(session, name)
    service = tenant.service
    gone = granted_scope.delete().where(granted_scope.c.principal_id == service.id)
    mail.run(lambda s: s.connection().execute(gone))
    with Session(mail.database.engine) as session, pytest.raises(InsufficientScope):
        put(session, mail)
    off = update(principal).where(principal.c.principal_id == service.id).values(status="disabled")
    mail.run(lambda s: s.connection().execute(off))
    with Session(mail.database.engine) as session, pytest.raises(NotFound):
        producer_of(session, service.public_id)


AGENT = "agt_" + "0" * 32


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"project": "a b"}, "/project"),
        ({"payload": {}}, "/type"),
        ({"type": "x" * 129}, "/type"),
        ({"type": "a\x85"}, "/type"),
        ({"supersedes_key": "a\x00"}, "/supersedes_key"),
        ({"priority": 101}, "/priority"),
        ({"priority": True}, "/priority"),
        ({"correlation_id": ""}, "/correlation_id"),
        ({"ordering_key": "x" * 201}, "/ordering_key"),
        ({"supersedes_key": "x" * 201}, "/supersedes_key"),
        ({"idempotency_key": "x" * 129}, "/idempotency_key"),
        ({"max_attempts": 0}, "/max_attempts"),
        ({"delay_seconds": -1}, "/delay_seconds"),
        ({"available_at": datetime(2031, 1, 1)}, "/available_at"),
        ({"available_at": datetime(2031, 1, 1, tzinfo=UTC), "delay_seconds": 1}, "/available_at"),
        ({"corrects": AGENT}, "/corrects"),
        ({"report": ["completed"]}, "/report"),
        ({"payload": {"type": "t", "x": object()}}, "/payload"),
    ],
)
def test_what_a_message_may_not_say(members: dict[str, Any], pointer: str) -> None:
    said: dict[str, Any] = {"project": "p", "payload": {"type": "t"}}
    with pytest.raises(ValidationFailed) as refused:
        message([AGENT], **(said | members))
    assert [fault["pointer"] for fault in refused.value.members["errors"]] == [pointer]


def test_whom_a_message_may_not_be_for_and_how_large_it_may_be() -> None:
    with pytest.raises(RecipientRefused):
        message(["svc_" + "0" * 32], project="p", payload={"type": "t"})
    for nobody in ([], [AGENT, AGENT]):
        with pytest.raises(ValidationFailed):
            message(nobody, project="p", payload={"type": "t"})
    with pytest.raises(PayloadTooLarge):
        message([AGENT], project="p", payload={"type": "t", "x": "y" * 262_144})
    later = datetime(2031, 1, 1, 3, tzinfo=UTC) + timedelta(hours=1)
    made = message([AGENT], project="p", payload={"type": "t"}, available_at=later)
    assert made.available_at == datetime(2031, 1, 1, 4)

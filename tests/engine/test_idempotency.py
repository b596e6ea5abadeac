"""Idempotency-Key of a request: what committed is kept, as the ids it made (contract section 3)."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy.orm import Session

from restante.errors import IdempotencyKeyReused
from restante.identity.principal import Principal, PrincipalKind
from restante.inbox.idempotency import keep, replay, request_hash
from restante.inbox.publish import publish
from restante.storage.clock import database_now
from restante.storage.tables.keys import idempotency_key
from tests.engine.snapshot import unchanged
from tests.factories import Mailbox, Tenant, pass_time

HASHED = request_hash("POST", "/api/v1/events", b"{}")


def request(
    mail: Mailbox, by: Principal | None = None, key: str = "k", hashed: bytes = HASHED
) -> Any:
    service = mail.tenant.service

    def work(session: Session) -> Any:
        made = replay(session, by or service, key, hashed)
        if made is not None:
            return made
        (published,) = publish(session, service, [mail.publication()])
        keep(session, by or service, key, {"ids": [published.event_id.hex()]})
        return None

    return mail.run(work)


def test_the_repeat_is_answered_from_the_ids_of_the_first(mail: Mailbox) -> None:
    assert request(mail) is None
    event = mail.take_one()
    with unchanged(mail.database):
        assert request(mail) == {"ids": [event.id.hex()]}
    mail.ack(event)
    assert request(mail) == {"ids": [event.id.hex()]}


@pytest.mark.parametrize(
    "other",
    [("PUT", "/api/v1/events", b"{}"), ("POST", "/x", b"{}"), ("POST", "/api/v1/events", b"")],
)
def test_another_request_is_refused(mail: Mailbox, other: tuple[str, str, bytes]) -> None:
    request(mail)
    with unchanged(mail.database), pytest.raises(IdempotencyKeyReused):
        request(mail, hashed=request_hash(*other))


def test_the_parts_of_a_request_do_not_run_into_each_other() -> None:
    assert request_hash("POST", "/a", b"b") != request_hash("POST", "/ab", b"")


def test_a_refused_request_leaves_no_key(mail: Mailbox) -> None:
    def refused(session: Session) -> None:
        assert replay(session, mail.tenant.service, "k", HASHED) is None
        raise ZeroDivisionError

    with unchanged(mail.database), pytest.raises(ZeroDivisionError):
        mail.run(refused)
    assert request(mail, hashed=b"x" * 32) is None


def test_a_key_belongs_to_one_principal_and_is_compared_exactly(
    mail: Mailbox, tenant: Tenant
) -> None:
    other = tenant.principal(PrincipalKind.SERVICE, [])
    assert request(mail) is None
    assert request(mail, other) is None
    assert request(mail, key="K") is None
    assert request(mail, key="k ") is None
    assert mail.inbox_row().head == 4


def test_it_outlives_the_events_it_made(mail: Mailbox) -> None:
    before = mail.run(database_now)
    request(mail)
    row = mail.run(lambda s: s.connection().execute(idempotency_key.select()).one())
    assert (row.keep_until - before).days >= 59
    pass_time(mail.database, days=31)
    mail.retain()
    assert request(mail)["ids"]

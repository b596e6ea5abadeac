"""The rows that the other tests compare with hold the schema's rules (contract section 2, rule 11)."""

from __future__ import annotations

import pytest
from sqlalchemy import Update, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from restante.inbox.lifecycle import Gate
from restante.storage.tables.events import agent_inbox, scheduled_event
from restante.storage.tables.keys import publication_key
from tests.factories import Mailbox

FORBIDDEN = [
    ("pending", {"gate": Gate.CLAIMED}),
    ("pending", {"consumer": "somebody"}),
    ("pending", {"gate": Gate.COMPLETED}),
    ("pending", {"gate": Gate.WAITING}),
    ("pending", {"gate": 9}),
    ("pending", {"gate": Gate.SCHEDULED}),
    ("claimed", {"claim_expires_at": None}),
    ("claimed", {"consumer": None}),
    ("claimed", {"gate": Gate.CLAIMABLE}),
    ("claimed", {"gate": Gate.QUARANTINED}),
    ("completed", {"final_at": None}),
    ("completed", {"consumer": "somebody"}),
    ("completed", {"gate": Gate.CLAIMABLE}),
    ("pending", {"sequence_number": None}),
]


def refused(mail: Mailbox, statement: Update) -> bool:
    """Tell whether the database refuses it."""
    try:
        mail.run(lambda session: session.connection().execute(statement))
    except DBAPIError:
        return True
    return False


def test_the_schema_refuses_what_no_verb_may_write(
    mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    for name, values in FORBIDDEN:
        of = agent_inbox.c.event_id == gallery[name]
        statement = update(agent_inbox).where(of).values(values)
        assert refused(mail, statement), (name, values)


def test_the_schema_refuses_a_scheduled_event_that_is_none(
    mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    of = scheduled_event.c.event_id == gallery["scheduled"]
    for values in ({"gate": Gate.CANCELLED}, {"due_at": None}, {"gate": Gate.CLAIMABLE}):
        statement = update(scheduled_event).where(of).values(values)
        assert refused(mail, statement), values


def test_an_idempotency_key_is_unique_in_the_schema(mail: Mailbox) -> None:
    mail.publish(idempotency_key="k")

    def copy(session: Session) -> None:
        row = session.connection().execute(publication_key.select()).one()
        session.connection().execute(publication_key.insert(), [dict(row._mapping)])

    with pytest.raises(DBAPIError):
        mail.run(copy)

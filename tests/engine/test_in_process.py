"""An application publishes inside its own transaction (contract 6.1)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session

from restante.errors import InboxFull, RecipientRefused, ValidationFailed
from restante.inbox.publication import Published
from restante.inbox.publish import publish
from restante.signals.rings import ON_RING
from restante.storage.tables.identity import tenant as tenants
from tests.engine.snapshot import unchanged
from tests.factories import Mailbox


@pytest.fixture
def session(mail: Mailbox) -> Iterator[Session]:
    with Session(mail.database.engine) as session:
        yield session


def put(session: Session, mail: Mailbox, **members: object) -> Published:
    (published,) = publish(session, mail.tenant.service, [mail.publication(**members)])
    return published


def rename(session: Session, name: str) -> None:
    """The application's own change."""
    session.execute(update(tenants).values(name=name))


def names(mail: Mailbox) -> list[str]:
    return list(mail.run(lambda s: s.connection().execute(tenants.select()).all())[0])[1:2]


def test_ids_are_known_at_once_and_sequences_after_the_commit(
    mail: Mailbox, session: Session
) -> None:
    rename(session, "new")
    first, second = put(session, mail), put(session, mail, ordering_key="k")
    assert (first.sequence_number, second.sequence_number) == (None, None)
    assert first.event_id < second.event_id
    session.commit()
    assert (first.sequence_number, second.sequence_number) == (1, 2)
    assert names(mail) == ["new"]
    assert len(mail.take()) == 2
    third = put(session, mail)
    session.commit()
    assert third.sequence_number == 3


def test_a_rollback_takes_it_along_and_rings_nothing(mail: Mailbox, session: Session) -> None:
    heard: list[object] = []
    session.info[ON_RING] = heard.append
    with unchanged(mail.database):
        rename(session, "new")
        put(session, mail)
        session.rollback()
        session.commit()
    assert heard == []
    put(session, mail)
    session.commit()
    assert (len(heard), mail.inbox_row().head) == (1, 1)


def test_messages_that_are_the_same_but_for_their_payloads_are_one_publication(
    mail: Mailbox, session: Session
) -> None:
    alike = mail.publication(payload=b'{"n":1}', more=(b'{"n":2}', b'{"n":3}'))
    published = publish(session, mail.tenant.service, [alike, mail.publication(payload=b"{}")])
    session.commit()
    assert [one.sequence_number for one in published] == [1, 2, 3, 4]
    assert [event.told["payload"] for event in mail.take()] == [{"n": 1}, {"n": 2}, {"n": 3}, {}]
    keyed = mail.publication(more=(b"{}",), idempotency_key="k")
    with pytest.raises(ValueError, match="one idempotency_key"):
        publish(session, mail.tenant.service, [keyed])


def test_a_refused_call_leaves_nothing_of_itself(mail: Mailbox, session: Session) -> None:
    kept = put(session, mail)
    with pytest.raises(ValidationFailed):
        publish(
            session,
            mail.tenant.service,
            [mail.publication(), mail.publication(expires_in_seconds=0)],
        )
    with pytest.raises(RecipientRefused):
        put(session, mail, recipients=(b"\0" * 16,))
    session.commit()
    assert (kept.sequence_number, mail.inbox_row().head) == (1, 1)


def test_what_cannot_be_written_cannot_be_committed_without(
    mail: Mailbox, session: Session
) -> None:
    """The application's own rows do not commit where its events found no room, tried again or not."""
    mail.set_limits(max_pending=1)
    with unchanged(mail.database):
        rename(session, "new")
        put(session, mail)
        put(session, mail)
        for _ in range(2):
            with pytest.raises(InboxFull):
                session.commit()
        session.rollback()
    put(session, mail)
    session.commit()
    assert mail.inbox_row().head == 1


def test_a_savepoint_takes_along_what_was_recorded_in_it(mail: Mailbox, session: Session) -> None:
    before = put(session, mail)
    inner = session.begin_nested()
    inside = put(session, mail)
    inner.rollback()
    after = put(session, mail)
    with session.begin_nested():
        kept = put(session, mail)
    session.commit()
    numbers = [p.sequence_number for p in (before, inside, after, kept)]
    assert numbers == [1, None, 2, 3]
    assert mail.inbox_row().head == 3


def test_a_first_publication_in_a_savepoint_goes_with_it(mail: Mailbox, session: Session) -> None:
    rename(session, "new")
    inner = session.begin_nested()
    put(session, mail)
    inner.rollback()
    session.commit()
    assert (names(mail), mail.inbox_row().head) == (["new"], 0)

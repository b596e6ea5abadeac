"""Several calls in one transaction: each is answered by itself, and what spoils one spoils none."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from restante.errors import NotFound, OutcomeUnknown, StaleClaim
from restante.inbox.publish import write
from restante.storage.together import Outcome, Spoilt, Work, run_together
from restante.storage.transaction import Database, Repeat
from tests.factories import Event, Mailbox, Tenant
from tests.races.players import Player
from tests.races.verbs import acking, claiming, ids, publishing
from tests.support.locks import connection_id

pytestmark = pytest.mark.servers_only
PATIENCE_SECONDS = 20


def together(database: Database, *works: Work) -> list[Outcome]:
    return run_together(database, [(work, copy_context()) for work in works])


@pytest.fixture
def mails(tenant: Tenant) -> list[Mailbox]:
    """In the order of their ids, as a combiner sorts."""
    return sorted((tenant.agent() for _ in range(3)), key=lambda mail: mail.id)


def test_claims_of_several_inboxes_and_their_acks(mails: list[Mailbox]) -> None:
    database = mails[0].database
    made = [together(database, publishing(m), publishing(m))[0].answer[0] for m in mails]
    claims = together(database, *(claiming(mail, limit=1) for mail in mails))
    assert [ids(claim.answer) for claim in claims] == [[event.event_id] for event in made]
    events = [Event.of(claim.answer.events[0]) for claim in claims]
    acks = together(database, *(acking(m, e) for m, e in zip(mails, events, strict=True)))
    assert [ack.answer["status"] for ack in acks] == ["completed"] * 3


def test_publications_for_one_inbox_follow_each_other(mail: Mailbox) -> None:
    outcomes = together(mail.database, *(publishing(mail) for _ in range(4)))
    numbers = [published.sequence_number for o in outcomes for published in o.answer]
    assert numbers == [1, 2, 3, 4]
    assert mail.inbox_row().head == 4


def test_a_refusal_spoils_nothing(mails: list[Mailbox]) -> None:
    first, second, third = mails
    database = first.database
    together(database, publishing(first), publishing(second))
    held = [
        Event.of(c.answer.events[0]) for c in together(database, claiming(first), claiming(second))
    ]
    database.run(acking(second, held[1]))
    stale = Event(held[1].id, held[1].generation + 1, {})
    done, no, also = together(
        database, acking(first, held[0]), acking(second, stale), publishing(third)
    )
    assert done.answer["status"] == "completed"
    assert isinstance(no.refusal, StaleClaim)
    assert also.answer[0].sequence_number == 1
    assert third.inbox_row().head == 1


def test_who_is_refused_once_he_has_written_spoils_all_and_leaves_nothing(
    mails: list[Mailbox],
) -> None:
    first, second, _ = mails

    def writes_and_is_refused(session: Session) -> None:
        publishing(second)(session)
        write(session)
        raise NotFound

    with pytest.raises(Spoilt):
        together(first.database, publishing(first), writes_and_is_refused)
    assert (first.inbox_row().head, second.inbox_row().head) == (0, 0)


@pytest.mark.parametrize("error", [Repeat(), ValueError("a bug")])
def test_any_other_error_spoils_all(mails: list[Mailbox], error: Exception) -> None:
    def breaks(_: Session) -> None:
        raise error

    with pytest.raises(Spoilt):
        together(mails[0].database, publishing(mails[0]), breaks)
    assert mails[0].inbox_row().head == 0


def test_what_somebody_holds_spoils_all_and_is_counted(mails: list[Mailbox]) -> None:
    first, second, _ = mails
    database = first.database
    together(database, publishing(first), publishing(second))
    claims = together(database, claiming(first), claiming(second))
    events = [Event.of(claim.answer.events[0]) for claim in claims]
    holder = Player(database, acking(first, events[0]), holding=True)
    before = database.retries.total()
    with pytest.raises(Spoilt):
        together(database, acking(first, events[0]), acking(second, events[1]))
    assert database.retries.total() == before + 1
    holder.roll_back()
    again = together(database, acking(first, events[0]), acking(second, events[1]))
    assert [o.answer["status"] for o in again] == ["completed"] * 2


def test_two_transactions_of_many_wait_for_each_other_in_order(mails: list[Mailbox]) -> None:
    database, hold, go = mails[0].database, threading.Event(), threading.Event()
    numbers: list[int] = []
    outcomes: dict[str, Any] = {}

    def stop(session: Session) -> None:
        connection_id(session.connection())
        session.ask("SELECT 1")  # type: ignore[attr-defined]  # a Unit
        session.ask("SELECT 1")  # type: ignore[attr-defined]  # a Unit
        hold.set()
        assert go.wait(PATIENCE_SECONDS)

    def number(session: Session) -> None:
        numbers.append(connection_id(session.connection()))

    def play(name: str, *works: Work) -> threading.Thread:
        def run() -> None:
            outcomes[name] = together(database, *works)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    one = play("one", *(publishing(mail) for mail in mails), stop)
    assert hold.wait(PATIENCE_SECONDS)
    two = play("two", number, *(publishing(mail) for mail in reversed(mails[1:])))
    go.set()
    one.join(PATIENCE_SECONDS)
    two.join(PATIENCE_SECONDS)
    assert sorted(outcomes) == ["one", "two"]
    assert [mail.inbox_row().head for mail in mails] == [1, 2, 2]


def test_a_commit_that_breaks_is_unknown_to_all(mail: Mailbox) -> None:
    database = mail.database

    def look(session: Session) -> None:
        session.connection().execute(text("SELECT 1"))

    def break_off(session: Session) -> None:
        number = connection_id(session.connection())
        with database.engine.connect() as other:
            other.execute(text(f"KILL {number}"))

    outcomes = together(database, look, break_off)
    assert [type(outcome.refusal) for outcome in outcomes] == [OutcomeUnknown] * 2

from __future__ import annotations

import orjson
import pytest
from sqlalchemy import insert, update
from sqlalchemy.orm import Session

from restante.errors import CursorGone
from restante.inbox import browse
from restante.inbox.lifecycle import Gate
from restante.inbox.rules import PAGE_BYTES
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.inboxes import inbox
from restante.storage.tables.signals import node, open_stream
from tests.engine.snapshot import unchanged
from tests.factories import Mailbox, pass_time


def numbers(mail: Mailbox, *slugs: str, **members: object) -> list[int]:
    return [orjson.loads(e)["sequence_number"] for e in mail.page(*slugs, **members).events]


def test_a_page_shows_every_state_and_changes_nothing(
    mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    with unchanged(mail.database):
        page = mail.page(limit=50, after_cursor=1)
    told = {bytes.fromhex(e["event_id"][4:]): e for e in map(orjson.loads, page.events)}
    here = {name: told[event] for name, event in gallery.items() if event in told}
    assert {name: e["status"] for name, e in here.items()} == {
        "expired": "expired",
        "completed": "completed",
        "quarantined": "quarantined",
        "delayed": "pending",
        "claimed": "claimed",
        "waiting": "pending",
        "asked": "claimed",
        "cancelled": "cancelled",
        "pending": "pending",
    }
    assert {name for name, e in here.items() if e["payload"] is None} == {
        "completed",
        "quarantined",
    }
    assert [e["sequence_number"] for e in told.values()] == list(range(2, 11))
    assert (page.next_cursor, page.has_more, page.claimable) == (10, False, 1)
    assert page.epoch == mail.inbox_row().epoch.hex()


def test_open_leaves_the_final_ones_out(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    page = mail.page(limit=50, open_only=True)
    statuses = [orjson.loads(e)["status"] for e in page.events]
    assert statuses == ["quarantined", "pending", "claimed", "pending", "claimed", "pending"]
    assert page.next_cursor == 10


def test_pages_follow_each_other(mail: Mailbox) -> None:
    mail.publish_many(mail.publication(project="pq"[i % 2]) for i in range(9))
    first = mail.page(limit=4)
    assert (first.next_cursor, first.has_more) == (4, True)
    second = mail.page(limit=4, after_cursor=4)
    assert (second.next_cursor, second.has_more) == (8, True)
    last = mail.page(limit=4, after_cursor=8)
    assert (last.next_cursor, last.has_more) == (9, False)
    assert numbers(mail, "q", limit=2, after_cursor=2) == [4, 6]
    page = mail.page("q", limit=2, after_cursor=4)
    assert (page.next_cursor, page.has_more) == (9, False)
    page = mail.page("p", limit=5)
    assert (page.next_cursor, page.has_more) == (9, False)


def test_only_covered_projects(mail: Mailbox) -> None:
    mail.publish(project="q")
    page = mail.only("p").page()
    assert (page.events, page.next_cursor, page.claimable) == ([], 1, 0)


def test_an_empty_page_says_how_far_it_looked(mail: Mailbox) -> None:
    mail.publish_many(mail.publication(project="q") for _ in range(1000))
    mail.publish_many(mail.publication(project="q") for _ in range(1000))
    mail.publish()
    page = mail.page("p")
    assert (page.events, page.next_cursor, page.has_more) == ([], 2000, True)
    page = mail.page("p", after_cursor=2000)
    assert (len(page.events), page.next_cursor, page.has_more) == (1, 2001, False)


def test_a_page_ends_at_four_mebibytes(mail: Mailbox) -> None:
    big = b'{"x":"' + b"a" * (PAGE_BYTES // 3) + b'"}'
    for _ in range(3):
        mail.publish(payload=big)
    first = mail.page()
    assert (len(first.events), first.next_cursor, first.has_more) == (2, 2, True)
    assert numbers(mail, after_cursor=2) == [3]


def test_effective_states_whether_or_not_the_row_was_written(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when another look holds the rows: the timers do not run, the page is right all the same."""
    mail.publish(expires_in_seconds=5)
    mail.publish()
    mail.release(mail.take(limit=2)[1], delay=8)
    mail.publish()
    mail.take_one(lease_seconds=9)
    monkeypatch.setattr(browse.timers, "run_due", lambda *_, **__: 0)
    pass_time(mail.database, 7)
    told = [orjson.loads(e) for e in mail.page().events]
    assert [e["status"] for e in told] == ["claimed", "pending", "claimed"]
    assert told[1]["not_before"] is not None
    pass_time(mail.database, 3)
    told = [orjson.loads(e) for e in mail.page().events]
    assert [e["status"] for e in told] == ["claimed", "pending", "pending"]
    assert told[1]["not_before"] is None
    assert mail.row(bytes.fromhex(told[2]["event_id"][4:])).gate == Gate.CLAIMED


def test_a_scheduled_event_past_due_and_expiry_is_shown_expired(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = mail.publish(delay_seconds=5, expires_in_seconds=5).event_id
    due = mail.publish(delay_seconds=5).event_id
    monkeypatch.setattr(browse.timers, "run_due", lambda *_, **__: 0)
    pass_time(mail.database, 30)
    assert [mail.read(e)["status"] for e in (event, due)] == ["expired", "pending"]


def test_a_cursor_of_a_lost_history_is_gone(mail: Mailbox) -> None:
    mail.publish_many(mail.publication() for _ in range(3))
    mail.ack(mail.take_one())
    pass_time(mail.database, days=31)
    mail.publish()
    mail.retain()
    epoch = mail.inbox_row().epoch.hex()
    for members, reason in (
        ({"after_cursor": 5}, "epoch"),
        ({"epoch": "0" * 32, "after_cursor": 4}, "epoch"),
        ({"epoch": "0" * 32}, "epoch"),
        ({"epoch": "0" * 32, "after_cursor": 0}, "epoch"),
        ({"after_cursor": 1}, "retention"),
        ({"epoch": epoch, "after_cursor": 2}, "retention"),
    ):
        with pytest.raises(CursorGone) as gone:
            mail.page(**members)
        told = gone.value.members
        assert (told["reason"], told["oldest_cursor"], told["head"]) == (reason, 3, 4)
        assert told["state_url"] == f"/api/v1/agents/{mail.agent.public_id}/state"
        after = members.get("after_cursor", 0)
        lost = {"from": after + 1, "to": 3, "count": 3 - after, "unsettled": 3 - after}
        assert told["lost"] == (lost if reason == "retention" else None)
    with pytest.raises(CursorGone) as gone:
        mail.page(after_cursor=0)
    assert gone.value.members["lost"] == {"from": 1, "to": 3, "count": 3, "unsettled": 2}
    assert numbers(mail, after_cursor=3, epoch=epoch) == numbers(mail) == [4]


def test_a_floor_raised_while_reading_is_seen(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The floor is read after the rows; who named no cursor is shown the page from there."""
    mail.publish_many(mail.publication() for _ in range(3))
    choose, raised = browse._choose, []

    def and_then(session: Session, *rest: object) -> object:
        chosen = choose(session, *rest)
        if not raised:
            raised.append(True)
            session.connection().execute(update(inbox).values(oldest_cursor=2))
        return chosen

    monkeypatch.setattr(browse, "_choose", and_then)
    with pytest.raises(CursorGone) as gone:
        mail.page(after_cursor=0)
    assert gone.value.members["lost"]["to"] == 2
    raised.clear()
    assert numbers(mail) == [1, 2, 3]  # the whole was repeated: the first was rolled back
    assert raised


def test_when_to_ask_again(mail: Mailbox) -> None:
    def within(low: int, high: int) -> bool:
        return low * 0.8 <= mail.page().next_poll_ms <= high * 1.2

    mail.publish()
    assert within(1000, 1000)
    mail.ack(mail.take_one())
    assert within(1000, 1000)
    pass_time(mail.database, 15)
    assert within(10_000, 10_000)
    pass_time(mail.database, 85)
    assert within(50_000, 51_000)
    pass_time(mail.database, 10_000)
    assert within(300_000, 300_000)

    def stream(session: Session) -> None:
        here, now = new_id(), database_now(session)
        session.connection().execute(insert(node), {"node_id": here, "seen_at": now})
        row = {"stream_id": new_id(), "recipient_id": mail.id, "node_id": here, "opened_at": now}
        session.connection().execute(insert(open_stream), row)

    mail.publish()
    assert within(1000, 1000)
    mail.run(stream)
    assert within(300_000, 300_000)
    pass_time(mail.database, 31)
    assert within(1000, 1000)

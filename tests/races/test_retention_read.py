"""A purge while somebody reads: he has the rows or is told that they are gone, never a silent hole."""

from __future__ import annotations

import orjson
import pytest

from restante.errors import CursorGone
from restante.inbox import browse
from restante.inbox.lifecycle import Gate
from tests.factories import Event, Mailbox, pass_time
from tests.races.players import Player, stop_after, stop_before
from tests.races.verbs import archiving, claiming, raising_the_floor, reading

pytestmark = pytest.mark.servers_only


@pytest.fixture
def old(mail: Mailbox) -> Mailbox:
    """Three old events and a young one."""
    mail.publish_many(mail.publication() for _ in range(3))
    pass_time(mail.database, days=31)
    mail.publish()
    return mail


def sequences(page: browse.Page) -> list[int]:
    return [orjson.loads(e)["sequence_number"] for e in page.events]


@pytest.mark.parametrize("place", ["_choose", "_render"])
@pytest.mark.parametrize("when", [stop_before, stop_after], ids=["before", "after"])
def test_a_purge_while_reading_is_told(
    old: Mailbox, monkeypatch: pytest.MonkeyPatch, place: str, when
) -> None:
    with when(monkeypatch, browse, place) as stop:
        reader = Player(old.database, reading(old, after_cursor=0))
        stop.wait_until_reached()
        assert old.retain() == 3
        stop.let_go()
        with pytest.raises(CursorGone) as gone:
            reader.answer()
    assert gone.value.members["lost"] == {"from": 1, "to": 3, "count": 3, "unsettled": 3}


def test_a_reader_without_a_cursor_begins_at_the_new_floor(
    old: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stop_before(monkeypatch, browse, "_choose") as stop:
        reader = Player(old.database, reading(old))
        stop.wait_until_reached()
        old.retain()
        stop.let_go()
        page = reader.answer()
    assert (sequences(page), page.next_cursor) == ([4], 4)


def test_the_floor_is_committed_before_the_rows_go(old: Mailbox) -> None:
    """Between the two a cursor below it is refused, though its rows are there."""
    assert sequences(old.page(after_cursor=0)) == [1, 2, 3, 4]
    old.run(raising_the_floor(old))
    with pytest.raises(CursorGone):
        old.page(after_cursor=2)
    assert sequences(old.page(after_cursor=3)) == sequences(old.page()) == [4]
    eater = Player(old.database, archiving(old), holding=True)
    assert sequences(old.page(after_cursor=3)) == [4]
    assert eater.commit() == 3


def test_an_uncommitted_floor_hides_nothing(old: Mailbox) -> None:
    eater = Player(old.database, raising_the_floor(old), holding=True)
    assert sequences(old.page(after_cursor=0)) == [1, 2, 3, 4]
    eater.roll_back()
    assert sequences(old.page(after_cursor=0)) == [1, 2, 3, 4]


def test_a_claim_that_was_first_keeps_its_event(old: Mailbox) -> None:
    """Taken after the floor was decided: it is worked, and eaten when it is final."""
    old.run(raising_the_floor(old))
    claimer = Player(old.database, claiming(old, limit=1), holding=True)
    eater = Player(old.database, archiving(old))
    assert (eater.answer(), eater.tries) == (2, 1)
    (event,) = map(Event.of, claimer.commit().events)
    assert old.run(archiving(old)) == 0
    assert old.gate(event.id) is Gate.CLAIMED
    old.ack(event)
    assert old.run(archiving(old)) == 1


def test_an_archive_that_was_first_is_passed_over_by_a_claim(old: Mailbox) -> None:
    old.run(raising_the_floor(old))
    eater = Player(old.database, archiving(old), holding=True)
    claimer = Player(old.database, claiming(old))
    claimed = claimer.answer()
    assert [orjson.loads(e)["sequence_number"] for e in claimed.events] == [4]
    assert eater.commit() == 3


def test_a_live_lease_stops_the_floor(old: Mailbox) -> None:
    event = old.take_one(lease_seconds=500)
    assert old.run(raising_the_floor(old)) is None
    old.ack(event)
    assert old.run(raising_the_floor(old)) == 3

"""What other processes commit is found, in whatever order their ids appear."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, insert

from restante.signals.pruning import KEPT_SECONDS, RingPruner
from restante.signals.rings import Ring
from restante.signals.tailer import MISSED_SECONDS, MOST_MISSED, MOST_ROWS, Tailer
from restante.storage.tables.signals import wake
from tests.support.databases import TestDatabase

ME, P = b"m" * 16, b"p" * 16


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def put(database: TestDatabase, *ids: int) -> None:
    """Rows of `wake` with these ids; the head is the id."""
    rows = [{"wake_id": i, "recipient_id": ME, "project_id": P, "head": i} for i in ids]
    database.run(lambda session: session.connection().execute(insert(wake), rows))


def read(database: TestDatabase, tailer: Tailer) -> list[int | None]:
    """The heads of the rings that one tick finds."""
    return [ring.head for ring in tailer.note(database.run(tailer.read))]


def test_it_starts_at_the_end_and_reads_each_ring_once(database: TestDatabase) -> None:
    put(database, 1, 2, 3)
    tailer = Tailer()
    assert read(database, tailer) == []
    put(database, 4, 5)
    assert read(database, tailer) == [4, 5]
    assert read(database, tailer) == []


def test_a_lower_id_that_commits_later_is_found(database: TestDatabase) -> None:
    tailer = Tailer()
    put(database, 10)
    read(database, tailer)
    put(database, 13)
    assert read(database, tailer) == [13]
    put(database, 11)
    assert read(database, tailer) == [11]
    put(database, 12, 14)
    assert read(database, tailer) == [12, 14]
    assert read(database, tailer) == []


def test_an_id_given_before_it_started_is_found(database: TestDatabase) -> None:
    put(database, 10)
    tailer = Tailer()
    read(database, tailer)
    put(database, 9)
    assert read(database, tailer) == [9]


def test_it_does_not_ask_for_ever_for_an_id_that_was_rolled_back(
    database: TestDatabase, clock: Clock
) -> None:
    tailer = Tailer(clock=clock)
    put(database, 1)
    read(database, tailer)
    put(database, 5)
    read(database, tailer)
    assert sorted(tailer._missed) == [2, 3, 4]
    clock.now += MISSED_SECONDS + 1
    read(database, tailer)
    assert not tailer._missed


def test_a_gap_of_any_size_is_remembered_within_bounds(database: TestDatabase) -> None:
    tailer = Tailer()
    put(database, 1)
    read(database, tailer)
    put(database, 1_000_000)
    assert read(database, tailer) == [1_000_000]
    assert len(tailer._missed) <= MOST_MISSED
    put(database, 999_999)
    assert read(database, tailer) == [999_999]


def test_a_repeated_read_loses_nothing(database: TestDatabase) -> None:
    tailer = Tailer()
    put(database, 1)
    read(database, tailer)
    put(database, 2)
    database.run(tailer.read)  # its commit failed, and nothing was noted
    assert read(database, tailer) == [2]


def test_many_are_read_in_bounded_pieces(database: TestDatabase) -> None:
    tailer = Tailer()
    put(database, 1)
    read(database, tailer)
    put(database, *range(2, MOST_ROWS + 12))
    assert len(read(database, tailer)) == MOST_ROWS
    assert len(read(database, tailer)) == 10


def test_a_table_that_begins_anew_is_followed(database: TestDatabase) -> None:
    tailer = Tailer()
    put(database, 1000)
    read(database, tailer)
    database.run(lambda session: session.connection().execute(delete(wake)))
    put(database, 3)
    assert read(database, tailer) == []
    database.run(tailer.find_place)
    put(database, 4)
    assert read(database, tailer) == [4]


def test_heads_that_are_not_known_stay_so(database: TestDatabase) -> None:
    tailer = Tailer()
    database.run(tailer.read)
    row = {"recipient_id": ME, "project_id": P, "head": None}
    database.run(lambda session: session.connection().execute(insert(wake), row))
    assert tailer.note(database.run(tailer.read)) == [Ring(ME, P, None)]


def test_rings_are_deleted_when_they_are_a_minute_old(database: TestDatabase, clock: Clock) -> None:
    pruner = RingPruner(clock=clock)
    assert database.run(pruner.run) == 0
    put(database, 1, 2, 3)
    assert database.run(pruner.run) == 0
    clock.now += KEPT_SECONDS / 2
    put(database, 4)
    assert database.run(pruner.run) == 0
    clock.now += KEPT_SECONDS / 2
    assert database.run(pruner.run) == 3
    assert database.run(pruner.run) == 0
    clock.now += KEPT_SECONDS
    assert database.run(pruner.run) == 1

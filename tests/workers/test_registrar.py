"""The rows of open streams follow the streams, whatever happens to either."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import delete, select

from restante.errors import Overloaded
from restante.identity.tokens import Claims
from restante.signals.hub import Hub
from restante.signals.streams import MOST_OF_AN_AGENT, End, Stream, Streams
from restante.storage.tables.signals import node, open_stream
from tests.factories import Mailbox, pass_time
from tests.support.databases import TestDatabase
from tests.workers.conftest import Clock
from workers.registrar import SEEN_EVERY, Registrar

Subscribe = Callable[[Mailbox], Stream[Claims]]


@pytest.fixture
def registrar(database: TestDatabase, streams: Streams[Claims]) -> Registrar:
    return Registrar(database, streams)


def rows(database: TestDatabase) -> set[bytes]:
    found = select(open_stream.c.stream_id)
    return set(database.run(lambda session: session.connection().execute(found).scalars().all()))


def test_rows_follow_streams(
    registrar: Registrar,
    database: TestDatabase,
    streams: Streams[Claims],
    subscribe: Subscribe,
    mail: Mailbox,
) -> None:
    first, second = subscribe(mail), subscribe(mail)
    registrar.run_once()
    assert rows(database) == {first.stream_id, second.stream_id}
    streams.close(first)
    third = subscribe(mail)
    registrar.run_once()
    assert rows(database) == {second.stream_id, third.stream_id}
    registrar.stop()
    assert rows(database) == set()


def test_a_ninth_stream_closes_the_oldest_of_another_process(
    registrar: Registrar, database: TestDatabase, subscribe: Subscribe, mail: Mailbox, clock: Clock
) -> None:
    mine = []
    for _ in range(MOST_OF_AN_AGENT):
        mine.append(subscribe(mail))
        clock.now += 1
    registrar.run_once()
    elsewhere = Streams(Hub(), limit=10, heartbeat_seconds=30, clock=clock)
    other = Registrar(database, elsewhere)
    ninth = elsewhere.open(mail.id, mine[0].project_ids, standing=mine[0].standing)
    other.run_once()
    assert mine[0].ending is None
    for _ in range(SEEN_EVERY):
        registrar.run_once()
    assert mine[0].ending is not None
    assert mine[0].ending.reason is End.REPLACED
    assert all(stream.ending is None for stream in (*mine[1:], ninth))
    assert len(rows(database)) == MOST_OF_AN_AGENT


def test_a_process_taken_for_dead_comes_back_with_its_streams(
    registrar: Registrar, database: TestDatabase, subscribe: Subscribe, mail: Mailbox
) -> None:
    stream = subscribe(mail)
    registrar.run_once()
    database.run(lambda session: session.connection().execute(delete(open_stream)))
    database.run(lambda session: session.connection().execute(delete(node)))
    pass_time(database, 100)
    for _ in range(SEEN_EVERY):
        registrar.run_once()
    assert stream.ending is None
    assert rows(database) == {stream.stream_id}


def test_after_a_failure_everything_is_written_anew(
    registrar: Registrar,
    database: TestDatabase,
    streams: Streams[Claims],
    subscribe: Subscribe,
    mail: Mailbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = subscribe(mail)
    registrar.run_once()
    second, run = subscribe(mail), database.run
    streams.close(first)

    def breaks(work: object) -> None:
        run(work)  # type: ignore[arg-type] # it is what run takes
        raise Overloaded  # written, and nobody knows

    monkeypatch.setattr(database, "run", breaks)
    with pytest.raises(Overloaded):
        registrar.run_once()
    monkeypatch.setattr(database, "run", run)
    third = subscribe(mail)
    registrar.run_once()
    assert rows(database) == {second.stream_id, third.stream_id}

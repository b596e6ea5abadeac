"""Open streams: limits, ends, the pauses of the sweep."""

from __future__ import annotations

import pytest

from restante.signals.hub import Hub
from restante.signals.rings import Ring
from restante.signals.streams import (
    LAST_PAUSE_SECONDS,
    MOST_OF_AN_AGENT,
    STAY_AWAY,
    End,
    Stream,
    Streams,
)

P = b"p" * 16


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def agent(number: int) -> bytes:
    return number.to_bytes(16)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def streams(clock: Clock) -> Streams[str]:
    return Streams(Hub(), limit=20, heartbeat_seconds=30, clock=clock)


def opened(streams: Streams[str], number: int = 1) -> Stream[str]:
    stream = streams.open(agent(number), [P], standing="token")
    assert stream is not None
    return stream


def test_a_ninth_stream_of_an_agent_closes_its_oldest(streams: Streams[str], clock: Clock) -> None:
    mine = []
    for _ in range(MOST_OF_AN_AGENT + 2):
        mine.append(opened(streams))
        clock.now += 1
    opened(streams, 2)
    ends = [None if s.ending is None else s.ending.reason for s in mine]
    assert ends == [End.REPLACED, End.REPLACED] + [None] * MOST_OF_AN_AGENT


def test_a_full_process_opens_no_more_until_one_closes(streams: Streams[str]) -> None:
    some = [opened(streams, number) for number in range(20)]
    assert streams.open(agent(99), [P], standing="token") is None
    streams.close(some[0])
    opened(streams, 99)
    assert len(streams) == 20


def test_a_draining_process_opens_none(streams: Streams[str]) -> None:
    streams.hub.drain()
    assert streams.open(agent(1), [P], standing="token") is None


def test_a_stream_ends_before_its_token(streams: Streams[str], clock: Clock) -> None:
    stream = opened(streams)
    assert stream.ends_by is End.LIFETIME
    streams.bound(stream, 600)
    assert clock.now + 590 <= stream.ends_at < clock.now + 600
    assert stream.ends_by is End.TOKEN_EXPIRED
    short = opened(streams)
    streams.bound(short, 1)
    assert clock.now < short.ends_at < clock.now + 1


def test_a_token_that_outlives_the_stream_changes_nothing(streams: Streams[str]) -> None:
    stream = opened(streams)
    end = stream.ends_at
    streams.bound(stream, 100_000)
    assert (stream.ends_at, stream.ends_by) == (end, End.LIFETIME)


def test_the_first_end_stands(streams: Streams[str]) -> None:
    stream = opened(streams)
    stream.end(End.REVOKED)
    stream.end(End.SHUTDOWN)
    assert stream.ending is not None
    assert stream.ending.reason is End.REVOKED


def test_those_sent_away_do_not_come_back_together(streams: Streams[str]) -> None:
    waits = set()
    for number in range(20):
        stream = opened(streams, number)
        stream.end(End.SHUTDOWN)
        assert stream.ending is not None
        waits.add(stream.ending.retry_after_ms)
    low, high = STAY_AWAY[End.SHUTDOWN]
    assert all(low * 1000 <= wait <= high * 1000 for wait in waits)
    assert max(waits) - min(waits) > 2000


def test_the_sweep_looks_less_and_less_often_until_it_is_rung(
    streams: Streams[str], clock: Clock
) -> None:
    stream = opened(streams)
    pauses = []
    for _ in range(10):
        clock.now = stream.sweep_at
        stream.back_off(clock.now)
        pauses.append(stream.sweep_at - clock.now)
    assert all(
        0.8 * p <= pauses[i] <= p for i, p in enumerate([1, 2, 4, 8, 16, 32, 60, 60, 60, 60])
    )
    assert max(pauses) <= LAST_PAUSE_SECONDS
    streams.hub.ring_many([Ring(agent(1), P, 1)])
    assert stream.sweep_at - clock.now <= 1


def test_changes_are_told_once(streams: Streams[str]) -> None:
    first, second = opened(streams), opened(streams)
    streams.close(first)
    streams.close(first)
    assert streams.changes() == ([first, second], [first.stream_id])
    assert streams.changes() == ([], [])
    assert streams.get(second.stream_id) is second
    assert streams.get(first.stream_id) is None

"""SIGTERM in a worker: streams leave in slices over ten seconds, on a clock that the pauses move."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from restante.signals.hub import Hub
from restante.signals.streams import End, Stream, Streams
from workers import worker
from workers.worker import DRAIN_SECONDS, LAST_FRAMES_SECONDS, NOTICE_SECONDS, SLICE_SECONDS, Worker


class Leaving:
    """A worker of some streams, which writes their last frames while it pauses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, count: int, *, stuck: bool = False) -> None:
        self.now, self.stuck = 0.0, stuck
        self.told: list[tuple[float, int]] = []
        """When, and how many streams more had been told to end."""
        self.hung_up: list[bytes] = []
        monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(worker, "gevent", SimpleNamespace(sleep=self.sleep))
        self.streams: Streams[None] = Streams(
            Hub(), limit=count + 1, heartbeat_seconds=30, clock=lambda: self.now
        )
        for number in range(count):
            made = self.streams.open(number.to_bytes(16, "big"), [b"p" * 16], standing=None)
            assert made is not None
            made.line = SimpleNamespace(
                hang_up=lambda made=made: self.hung_up.append(made.stream_id)
            )
        self.worker = object.__new__(Worker)
        self.worker.runtime = SimpleNamespace(streams=self.streams, hub=self.streams.hub)
        self.worker._idle, self.worker.alive = set(), True

    def sleep(self, seconds: float) -> None:
        ending = [stream for stream in self.streams.all() if stream.ending is not None]
        before = sum(number for _, number in self.told) if self.stuck else 0
        if len(ending) > before:
            self.told.append((self.now, len(ending) - before))
        for stream in ending:
            self.write(stream)
        self.now += seconds

    def write(self, stream: Stream[None]) -> None:
        assert stream.ending is not None
        assert stream.ending.reason is End.SHUTDOWN
        if not self.stuck:
            self.streams.close(stream)


def test_streams_leave_in_slices_over_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    leaving = Leaving(monkeypatch, 80)
    leaving.worker._leave()
    assert [number for _, number in leaving.told] == [2] * round(DRAIN_SECONDS / SLICE_SECONDS)
    last = leaving.told[-1][0]
    assert DRAIN_SECONDS / 2 - SLICE_SECONDS < last < DRAIN_SECONDS
    assert not leaving.hung_up
    assert leaving.worker.alive is False
    assert leaving.streams.hub.draining


def test_who_does_not_take_the_last_frame_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    leaving = Leaving(monkeypatch, 40, stuck=True)
    leaving.worker._leave()
    assert len(leaving.hung_up) == 40
    assert leaving.now < DRAIN_SECONDS + LAST_FRAMES_SECONDS + 0.1


def test_without_streams_it_stays_a_moment_for_who_asks_whether_it_is_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leaving = Leaving(monkeypatch, 0)
    leaving.worker._leave()
    assert NOTICE_SECONDS <= leaving.now < NOTICE_SECONDS + 0.1

"""Loops: what they do with time, failures and stopping."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from tests.support.waiting import wait_until
from workers.service import LONGEST_PAUSE_SECONDS, Service, Services


class Counting(Service):
    name = "counting"
    pause_seconds = 0.001

    def __init__(self, *, fails: int = 0, more: int = 0) -> None:
        super().__init__()
        self.fails = fails
        self.more = more
        self.runs = 0
        self.finished = False
        self.done = threading.Event()

    def run_once(self) -> Mapping[str, int]:
        self.runs += 1
        if self.runs <= self.fails:
            raise RuntimeError("the database is away")
        if self.runs >= 5:
            self.done.set()
        return {"runs": self.runs, "more": int(self.runs < self.more)}

    def finish(self) -> None:
        self.finished = True


def test_it_runs_again_and_again_until_stopped() -> None:
    service = Counting()
    service.start()
    assert service.done.wait(30)
    service.stop()
    runs = service.runs
    assert service.finished
    assert service.passes == runs
    assert service._thread is not None
    assert not service._thread.is_alive()


def test_a_failed_pass_is_tried_again() -> None:
    service = Counting(fails=2)
    told: list[Mapping[str, int]] = []
    service.on_pass = told.append
    service.start()
    assert service.done.wait(30)
    service.stop()
    assert told[0]["runs"] == 3
    assert service.failures == 0


class Rare(Counting):
    """Notes when it would pause, and then pauses long."""

    def __init__(self) -> None:
        super().__init__(more=5)
        self.pauses = 0

    def next_pause(self, took_seconds: float) -> float:
        self.pauses += 1
        return 60.0


def test_what_is_left_over_is_done_without_a_pause() -> None:
    service = Rare()
    service.start()
    assert service.done.wait(30)
    wait_until(lambda: service.pauses, "the pause after the last of it")
    service.stop()
    assert (service.runs, service.pauses) == (5, 1)


def test_a_pass_that_took_long_is_followed_by_a_pause_all_the_same() -> None:
    service = Counting()
    service.pause_seconds = 10.0
    assert all(8.0 <= service.next_pause(0) <= 12.0 for _ in range(50))
    assert all(1.6 <= service.next_pause(60) <= 2.4 for _ in range(50))
    assert LONGEST_PAUSE_SECONDS <= 60


def test_several_are_started_and_stopped_together() -> None:
    some = Services([Counting(), Counting()])
    assert some.run_once() == {"counting": {"runs": 1, "more": 0}}
    some.start()
    assert all(service.done.wait(30) for service in some.all if isinstance(service, Counting))
    some.stop()
    assert all(service.finished for service in some.all if isinstance(service, Counting))

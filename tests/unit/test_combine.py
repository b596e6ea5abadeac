"""Calls that wait share a transaction: who waits, who leads, and what becomes of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from restante.errors import NotFound
from restante.storage import combine
from restante.storage.combine import LANES, LARGE, MOST_CALLS, Combiner, Kind, Sharing
from restante.storage.together import Outcome, Spoilt
from restante.storage.transaction import Database
from tests.support.waiting import wait_until

PATIENCE_SECONDS = 20


class House:
    """A database that runs nothing but what it is given, and notes which calls shared."""

    def __init__(self, patch: pytest.MonkeyPatch, **arguments: Any) -> None:
        self.engine = SimpleNamespace(dialect=SimpleNamespace(name="mysql"))
        self.shared: list[list[bytes]] = []
        self.alone: list[str] = []
        self.error: BaseException | None = None
        patch.setattr(combine, "run_together", self.run_together)
        database: Any = self
        self.combiner = Combiner(database, **{"patience_seconds": PATIENCE_SECONDS} | arguments)
        self.gate = threading.Event()
        self.threads: list[threading.Thread] = []
        self.answers: dict[str, Any] = {}

    def run(self, work: Callable[[Any], Any]) -> Any:
        return work(None)

    def run_together(self, _: Database, works: Sequence[tuple[Any, Any]]) -> list[Outcome]:
        if self.error is not None:
            raise self.error
        outcomes = []
        for work, context in works:
            try:
                outcomes.append(Outcome(context.run(work, "shared")))
            except NotFound as refusal:
                outcomes.append(Outcome(refusal=refusal))
        self.shared.append([answer.answer for answer in outcomes])
        return outcomes

    def call(self, name: str, work: Callable[[Any], Any] | None = None, **sharing: Any) -> None:
        """A call in a thread of its own; it answers its name."""

        def plain(session: Any) -> str:
            if session is None:
                self.alone.append(name)
            return name

        terms = {"kind": Kind.CLAIM, "order": name.encode(), "events": 1} | sharing

        def play() -> None:
            try:
                self.answers[name] = self.combiner.run(work or plain, Sharing(**terms))
            except BaseException as error:  # noqa: BLE001 - an answer like another
                self.answers[name] = error

        thread = threading.Thread(target=play, daemon=True)
        self.threads.append(thread)
        thread.start()

    def fill(self) -> None:
        """Calls that run until the gate opens, in every lane."""
        inside = threading.Semaphore(0)

        def hold(_: Any) -> None:
            inside.release()
            assert self.gate.wait(PATIENCE_SECONDS)

        for number in range(LANES):
            self.call(f"lane {number}", hold)
            assert inside.acquire(timeout=PATIENCE_SECONDS)

    def wait(self, *names: str, **sharing: Any) -> None:
        """Calls that wait, one after the other."""
        for name in names:
            before = self.waiting
            self.call(name, **sharing)
            wait_until(lambda before=before: self.waiting > before, "the call waits")

    @property
    def waiting(self) -> int:
        return len(self.combiner._waiting)

    def end(self) -> None:
        self.gate.set()
        for thread in self.threads:
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()


def test_those_that_wait_share_a_transaction_in_the_order_of_their_inboxes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = House(monkeypatch)
    house.fill()
    house.wait("c", "a", "b")
    house.end()
    assert house.shared == [["a", "b", "c"]]
    assert [house.answers[n] for n in "abc"] == ["a", "b", "c"]


def test_who_finds_room_runs_alone_and_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(monkeypatch)
    house.call("a")
    house.end()
    assert (house.alone, house.shared) == (["a"], [])


def test_two_of_one_inbox_do_not_share(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(monkeypatch)
    house.fill()
    house.wait("a", "b", once=b"one")
    house.wait("c", once=b"other")
    house.end()
    assert house.shared == [["a", "c"]]
    assert house.alone == ["b"]


def test_a_transaction_has_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(monkeypatch)
    house.fill()
    house.wait(*(f"{n:02}" for n in range(MOST_CALLS + 3)))
    house.end()
    assert [len(batch) for batch in house.shared] == [MOST_CALLS, 3]


def test_large_calls_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(monkeypatch)
    house.fill()
    house.call("large", events=LARGE + 1)
    wait_until(lambda: "large" in house.answers, "the large call is answered")
    house.end()


def test_what_is_spoilt_runs_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(monkeypatch)
    house.error = Spoilt()
    house.fill()
    house.wait("a", "b", "c")
    house.end()
    assert sorted(house.alone) == ["a", "b", "c"]
    assert [house.answers[n] for n in "abc"] == ["a", "b", "c"]


def test_a_refusal_is_told_to_the_one_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Any) -> None:
        raise NotFound

    house = House(monkeypatch)
    house.fill()
    house.wait("a", "b")
    house.call("c", refuse)
    wait_until(lambda: house.waiting == 3, "the third waits")
    house.end()
    assert (house.answers["a"], house.answers["b"]) == ("a", "b")
    assert isinstance(house.answers["c"], NotFound)


def test_where_the_leader_is_killed_the_others_run_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(monkeypatch)
    house.error = KeyboardInterrupt()
    house.fill()
    house.wait("a", "b", "c")
    house.end()
    assert isinstance(house.answers["a"], KeyboardInterrupt)
    assert sorted(house.alone) == ["b", "c"]
    house.call("d")  # the lane is free again
    house.end()
    assert house.answers["d"] == "d"


def test_nobody_waits_behind_what_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    house = House(monkeypatch, patience_seconds=0)
    house.fill()
    house.call("a")
    wait_until(lambda: "a" in house.answers, "it runs alone, though both lanes hang")
    house.end()
    assert house.alone == ["a"]

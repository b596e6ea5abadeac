"""Whatever is lost on the way, before or after it happened, each thing happens once."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from random import Random
from threading import Condition
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from restante_agent import Agent, Client, Delivery, Publication, RetryPolicy
from tests.sdk.conftest import HandClock, make_client
from tests.sdk.fake_answers import AGENT, SECRET, Reply, problem
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.fake_server import Broken, served

FAULTS = ("lost before", "lost after", "outcome unknown", "overloaded", "limited", "bad gateway")


class Faults:
    """Strikes requests by a plan: one fault, or None, for each request in turn."""

    def __init__(self, inbox: FakeInbox, plan: list[str | None]) -> None:
        self.plan, self.struck = plan, 0
        self.after: str | None = None
        inbox.before, inbox.after = self._before, self._after

    def _before(self, method: str, path: str, body: Any) -> Reply | None:
        fault = self.plan.pop(0) if self.plan else None
        self.struck += fault is not None
        self.after = None
        match fault:
            case "lost before":
                raise Broken
            case "lost after" | "outcome unknown":
                self.after = fault
            case "overloaded":
                return problem(503, "overloaded")
            case "limited":
                return problem(429, "rate-limited", retry_after=2)
            case "bad gateway":
                return 502, {"content-type": "text/html"}, b"<html>"
        return None

    def _after(self, method: str, path: str, reply: Reply) -> Reply | None:
        if self.after == "lost after":
            raise Broken
        return problem(503, "outcome-unknown") if self.after == "outcome unknown" else None


@given(st.lists(st.none() | st.sampled_from(FAULTS), max_size=60))
def test_publishing_claiming_and_acking_happen_once(plan: list[str | None]) -> None:
    clock = HandClock()
    inbox = FakeInbox(clock.monotonic)
    client = make_client(
        inbox, clock, retry=RetryPolicy(attempts=100, budget_seconds=1e6, cap_seconds=0.001)
    )
    Faults(inbox, plan)
    for number in range(3):
        client.publish(
            Publication(recipients=[AGENT], project="demo", type="t", payload={"n": number})
        )
    assert len(inbox.rows) == 3
    claimed = []
    while claim := client.claim(limit=2, consumer="c", lease_seconds=43_200).events:
        claimed += claim
    assert sorted(event.payload["n"] for event in claimed) == [0, 1, 2]
    client.ack(claimed[0].event_id, 1, result={"n": 1})
    client.release(claimed[1].event_id, 1, delay_seconds=1e9)
    client.reject(claimed[2].event_id, 1, reason="never")
    rows = [inbox.rows[event.event_id] for event in claimed]
    assert [row.status for row in rows] == ["completed", "pending", "quarantined"]
    assert [row.generation for row in rows] == [1, 1, 1]
    assert [row.effects for row in rows] == [["ack"], ["release"], ["reject"]]


def no_wait(seconds: float) -> None:
    """The client's own retries at once."""


class FastClock:
    """Ten of its seconds pass in one, for the runner, its client and the server alike."""

    def monotonic(self) -> float:
        return time.monotonic() * 10

    def wait(self, condition: Condition, seconds: float | None) -> None:
        condition.wait(None if seconds is None else seconds / 10)


def test_a_runner_under_fire_works_each_event_once(tmp_path: Path) -> None:
    clock = FastClock()
    inbox, seed = FakeInbox(clock.monotonic), Random().randrange(2**32)
    logging.getLogger("restante_agent").warning("seed=%d", seed)  # shown when the test fails
    random = Random(seed)
    for number in range(40):
        inbox.publish({"n": number}, ordering_key=f"k{number % 4}")
    plan = [random.choice(FAULTS) if random.random() < 0.35 else None for _ in range(200)]
    faults = Faults(inbox, plan)
    seen: list[int] = []

    def handle(delivery: Delivery) -> dict[str, int]:
        seen.append(delivery.event.payload["n"])
        return {"n": seen[-1]}

    with (
        served(inbox) as server,
        Client(server.url, AGENT, SECRET, monotonic=clock.monotonic, sleep=no_wait) as client,
    ):
        agent = Agent(
            client, handle, state_dir=tmp_path, concurrency=4, clock=clock, random=Random(seed)
        )
        while not inbox.all_completed():
            agent.run(until_empty=True, handle_signals=False)
    assert faults.struck > 5
    assert sorted(seen) == list(range(40))
    for key in range(4):
        assert [n for n in seen if n % 4 == key] == sorted(n for n in seen if n % 4 == key)
    assert all(row.effects.count("ack") == 1 for row in inbox.rows.values())

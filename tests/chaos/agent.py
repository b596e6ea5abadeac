"""An agent's two hands: one that claims and settles, not always in time, and one that reads by cursor."""

from __future__ import annotations

import time
from typing import Any

from tests.chaos.client import Answer, Caller

LEASE_SECONDS = 1
MOST_HELD_SECONDS = 1.15
TRIES = 6
FAILED = {"code": "chaos", "message": "failed on purpose", "outcome": "failed"}


def _claimed(answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "events": [
            {
                "event_id": event["event_id"],
                "generation": event["claim_generation"],
                "fence": event["fence"],
                "attempts": event["attempts"],
                "max_attempts": event["max_attempts"],
                "remaining_ms": event["lease_remaining_ms"],
            }
            for event in answer["events"]
        ]
    }


def _seen(answer: dict[str, Any]) -> dict[str, Any]:
    return {
        "next_cursor": answer["next_cursor"],
        "numbers": [event["sequence_number"] for event in answer["events"]],
    }


class Consumer:
    """Claims, works, settles; repeats what was not answered, and some of what was."""

    def __init__(self, caller: Caller, agent_id: str) -> None:
        self._caller, self._draw = caller, caller.draw
        self._path = f"/api/v1/agents/{agent_id}/inbox"
        self._old: list[tuple[str, int]] = []

    def work(self) -> None:
        """For ever."""
        while True:
            for event in self._claim():
                self._one(event)

    def _claim(self) -> list[dict[str, Any]]:
        body = {
            "limit": self._draw.choice((1, 3)),
            "lease_seconds": LEASE_SECONDS,
            "consumer": self._caller.name,
            "claim_id": f"{self._draw.getrandbits(96):024x}",
        }
        asked = {"claim_id": body["claim_id"], "lease_seconds": LEASE_SECONDS}
        answer: Answer = (0, {})
        for _ in range(TRIES):
            request = ("POST", f"{self._path}/claim", body)
            answer = self._caller.call("claim", asked, request, tell=_claimed)
            if answer[0] == 200:
                break
            self._caller.pause(answer)
        events: list[dict[str, Any]] = answer[1].get("events", []) if answer[0] == 200 else []
        if not events:
            self._caller.pause((0, {}))
        return events

    def _one(self, event: dict[str, Any]) -> None:
        named = event["event_id"], event["claim_generation"]
        if event["type"] == "chaos.poison":
            self._settle("release", named, error=FAILED)
            return
        chance = self._draw.random()
        if chance < 0.1:
            time.sleep(self._draw.uniform(0.85, MOST_HELD_SECONDS) * LEASE_SECONDS)
        if chance > 0.97:
            self._settle("renew", named, lease_seconds=LEASE_SECONDS)
        if chance > 0.9:
            verb = self._draw.choice(("release", "release", "reject"))
            more = {"reason": "on purpose"} if verb == "reject" else {}
            self._settle(verb, named, **more)
        else:
            self._settle("ack", named)
        self._again(named)

    def _again(self, named: tuple[str, int]) -> None:
        """An ack that comes late, twice or with a number that is over or was never given."""
        self._old = [*self._old[-10:], named]
        if self._draw.random() < 0.15:
            event, generation = self._draw.choice(self._old)
            off = self._draw.choice((0, 0, -1, 1000))
            self._settle("ack", (event, max(1, generation + off)), tries=1)

    def _settle(self, verb: str, named: tuple[str, int], tries: int = TRIES, **more: Any) -> None:
        event, generation = named
        request = ("POST", f"{self._path}/{event}/{verb}", {"claim_generation": generation, **more})
        asked = {"event_id": event, "generation": generation, **more}
        for _ in range(tries):
            answer = self._caller.call(verb, asked, request)
            if answer[0] in (200, 404, 409):
                return
            self._caller.pause(answer)


class Reader:
    """Follows a log from where it is kept, page by page, and begins anew behind the floor now and then."""

    def __init__(self, caller: Caller, agent_id: str) -> None:
        self._caller, self._draw = caller, caller.draw
        self._path = f"/api/v1/agents/{agent_id}/inbox"

    def work(self) -> None:
        """For ever."""
        cursor = oldest = 0
        while True:
            limit = self._draw.choice((3, 20))
            path = f"{self._path}?after_cursor={cursor}&limit={limit}"
            status, told = self._caller.call(
                "read", {"after": cursor}, ("GET", path, None), tell=_seen
            )
            if status == 200:
                at_end = cursor == told["next_cursor"]
                cursor = oldest if at_end and self._draw.random() < 0.3 else told["next_cursor"]
            elif status == 410:
                cursor = oldest = told["oldest_cursor"]
            self._caller.pause((status, told))

"""A producer: publishes until it is told to stop, each call again with its key until 201, some once more.

A call is drawn from the producer's seed and the call's number, so that one that was killed sends the
same again.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from tests.chaos.client import Caller

PROJECT = "chaos"
PATH = "/api/v1/events"
KEYS = 3
GAP_SECONDS = 0.3
"""So that agents that work slowly, and not always well, keep up."""
LATE = 20
"""Of so many earlier calls one may be sent once more."""


def publications(name: str, number: int, agents: list[str]) -> list[dict[str, Any]]:
    """Those of a producer's call."""
    draw = random.Random(f"{name} {number}")
    return [
        _publication(f"{name}-{number}-{i}", name, agents, draw)
        for i in range(draw.choice((1, 1, 1, 4)))
    ]


def _publication(
    correlation: str, name: str, agents: list[str], draw: random.Random
) -> dict[str, Any]:
    key = draw.randrange(KEYS * 2)
    later = {"delay_seconds": draw.random()} if key >= KEYS and draw.random() < 0.1 else {}
    poison = key >= KEYS and draw.random() < 0.05
    keyed = {"ordering_key": f"{name}/{key}"} if key < KEYS else {}
    return {
        "recipients": draw.sample(agents, draw.choice((1, 1, min(2, len(agents))))),
        "project": PROJECT,
        "type": "chaos.poison" if poison else "chaos.mail",
        "payload": {"text": "für später " * draw.randrange(20)},
        "priority": draw.choice((0, 0, 0, 10)),
        "correlation_id": correlation,
        "max_attempts": 2 if poison else 50,
        "backoff": {"base_seconds": 0, "max_seconds": 0},
        **keyed,
        **later,
    }


def asked(key: str, events: list[dict[str, Any]]) -> dict[str, Any]:
    """A publish as the history has it."""
    items = [
        {
            "name": one["correlation_id"],
            "recipients": one["recipients"],
            "ordering_key": one.get("ordering_key"),
        }
        for one in events
    ]
    return {"key": key, "items": items}


def _told(answer: dict[str, Any]) -> dict[str, Any]:
    members = ("event_id", "recipient_id", "sequence_number")
    return {"events": [{m: event[m] for m in members} for event in answer["events"]]}


def produce(caller: Caller, agents: list[str], first: int, stopped: Callable[[], bool]) -> None:
    """From this call on; a call that has been sent is brought to its end."""
    sent: deque[int] = deque(maxlen=LATE)

    def send(number: int) -> tuple[int, dict[str, Any]]:
        key = f"{caller.name}-call-{number}"
        events = publications(caller.name, number, agents)
        return caller.call(
            "publish", asked(key, events), ("POST", PATH, {"events": events}), key=key, tell=_told
        )

    number = first
    while not stopped():
        answer = send(number)
        while answer[0] != 201:
            if 400 <= answer[0] < 500 and answer[0] not in (401, 409, 429):
                raise AssertionError(f"{answer} to call {number}")
            caller.pause(answer)
            answer = send(number)
        sent.append(number)
        number += 1
        if caller.draw.random() < 0.1:
            caller.hang_up()
            send(caller.draw.choice(sent))
        time.sleep(caller.draw.uniform(0, GAP_SECONDS))

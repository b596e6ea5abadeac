"""One consumer under fire: claims, and acks or gives back; every step is a line in its log before the next.

`python -m tests.acceptance.fire_consumer LOG NAME SEED`, with an agent's RESTANTE_* in the
environment. It runs until it is killed. Lines: `got`, `acking`, `acked`, `refused`, `released`.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from restante_agent.client import Client
from restante_agent.errors import StaleClaim
from restante_agent.model.event import ClaimedEvent
from restante_agent.model.settle import Ack, Failure, Settlement
from restante_agent.wire.retry import RetryPolicy

PATIENT = RetryPolicy(attempts=10_000, budget_seconds=180.0, cap_seconds=1.0)
LEASE_SECONDS = 4
FAILURE = Failure("tried", "It did not work this time.")


def line_writer(path: str) -> Callable[..., None]:
    """Appends one JSON line a call, with the machine's monotonic time: whole, or not at all."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(what: str, **members: Any) -> None:
        line = json.dumps({"what": what, "at": time.monotonic_ns(), **members})
        os.write(handle, line.encode() + b"\n")

    return write


def work(client: Client, consumer: str, draw: random.Random, write: Callable[..., None]) -> None:
    """One claim and what becomes of it."""
    claim = client.claim(
        limit=draw.choice((1, 5, 25)),
        lease_seconds=LEASE_SECONDS,
        consumer=consumer,
        wait_seconds=2,
    )
    for event in claim.events:
        write("got", **_told(event))
    dawdles = bool(claim.events) and draw.random() < 0.01
    if dawdles:  # outlive the lease: somebody else has the events when this one settles
        time.sleep(LEASE_SECONDS + 1)
    if claim.events and draw.random() < 0.05:
        _try_stale(client, claim.events[0], write)
    if len(claim.events) == 1 and draw.random() < 0.1:
        _release(client, claim.events[0], write, error=draw.choice((None, FAILURE)))
    elif len(claim.events) == 1:
        _ack_one(client, claim.events[0], write)
    elif claim.events:
        _ack_many(client, claim.events, write)


def _told(event: ClaimedEvent) -> dict[str, Any]:
    return {
        "event": event.event_id,
        "generation": event.claim_generation,
        "fence": event.fence,
        "key": event.ordering_key,
        "place": event.ordering_sequence,
        "number": event.payload["number"],
    }


def _ack_one(client: Client, event: ClaimedEvent, write: Callable[..., None]) -> None:
    named = {"event": event.event_id, "generation": event.claim_generation}
    write("acking", **named)
    try:
        client.ack(event.event_id, event.claim_generation)
    except StaleClaim as stale:
        write("refused", **named, reason=stale.reason)
    else:
        write("acked", **named)


def _release(
    client: Client, event: ClaimedEvent, write: Callable[..., None], *, error: Failure | None
) -> None:
    named = {"event": event.event_id, "generation": event.claim_generation}
    try:
        client.release(event.event_id, event.claim_generation, error=error)
    except StaleClaim as stale:
        write("refused", **named, reason=stale.reason)
    else:
        write("released", **named)


def _ack_many(client: Client, events: tuple[ClaimedEvent, ...], write: Callable[..., None]) -> None:
    for event in events:
        write("acking", event=event.event_id, generation=event.claim_generation)
    orders = [Settlement(e.event_id, e.claim_generation, Ack()) for e in events]
    results = client.settle(orders)
    for event, settled in zip(events, results, strict=True):
        assert settled.event_id == event.event_id
        named = {"event": event.event_id, "generation": event.claim_generation}
        if settled.error is None:
            write("acked", **named)
        else:
            write("refused", **named, reason=settled.error.member("reason"))


def _try_stale(client: Client, event: ClaimedEvent, write: Callable[..., None]) -> None:
    """A generation that is over, and one never given, must both be refused."""
    for generation in (event.claim_generation - 1, event.claim_generation + 1000):
        if generation < 1:
            continue
        named = {"event": event.event_id, "generation": generation}
        try:
            client.ack(event.event_id, generation)
        except StaleClaim as stale:
            write("refused", **named, reason=stale.reason)
        else:
            write("acked", **named)


def main() -> None:
    log, consumer, seed = sys.argv[1:]
    client = Client.from_environment(retry=PATIENT)
    write, draw = line_writer(log), random.Random(seed)
    while True:
        work(client, consumer, draw, write)


if __name__ == "__main__":
    main()

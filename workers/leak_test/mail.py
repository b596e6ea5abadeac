"""What one inbox promises, step by step; where time is to pass, the database's clock is moved on."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from restante.errors import StaleClaim
from restante.inbox import quarantine, retention, timers
from restante.inbox.failures import Failure
from restante.inbox.orders import Ack, Release
from workers.leak_test.check import expect
from workers.leak_test.ground import Box, Event, Ground
from workers.pruner import Pruner
from workers.retention import Retention

FAILED = Failure("leak_test", "It fails on purpose.")
DAYS = 40


def ordered_polling(ground: Ground) -> str:
    """A reader by cursor gets every event once, in the order of their numbers, whatever is done to them."""
    box, chance = ground.box(), ground.chance
    ids = [
        box.publish(
            priority=chance.randint(-5, 5), ordering_key=chance.choice([None, "a", "b"])
        ).event_id
        for _ in range(30)
    ]
    for event in box.claim(limit=5):
        box.order(Ack(event.id, event.generation))
    seen: list[int] = []
    cursor = 0
    for _ in range(len(ids)):
        page = box.page(cursor, chance.randint(1, 7))
        seen += [json.loads(text)["sequence_number"] for text in page.events]
        expect(not seen or page.next_cursor >= seen[-1], "next_cursor is behind its own page")
        cursor = page.next_cursor
        if not page.has_more:
            break
    expect(seen == list(range(1, len(ids) + 1)), f"a reader saw {seen} of {len(ids)} events")
    expect([row.event_id for row in box.rows()] == ids, "the order is not that of the commits")
    return f"{len(ids)} events read once each, in order"


def stale_claims(ground: Ground) -> str:
    """Who had an event and lost it settles nothing."""
    box = ground.box()
    box.publish(backoff=(0.0, 0.0))
    late = _one(box)
    _pass(ground, seconds=61)
    holder = _one(box)
    expect(holder.generation == late.generation + 1, "a second claim is no new generation")
    before = box.rows()
    for order in (Ack(late.id, late.generation), Release(late.id, late.generation, error=FAILED)):
        expect(_is_stale(box, order), f"a stale {type(order).__name__.lower()} was taken")
        expect(box.rows() == before, f"a stale {type(order).__name__.lower()} changed something")
    first = box.order(Ack(holder.id, holder.generation))
    expect(box.order(Ack(holder.id, holder.generation)) == first, "an ack repeated is another one")
    expect(_is_stale(box, Ack(late.id, late.generation)), "a stale ack was taken afterwards")
    return "a lost claim is refused, an ack repeated is answered as it was"


def poison_threshold(ground: Ground) -> str:
    """An event that always fails is handed out so many times, then is in quarantine, in nobody's way."""
    box, most = ground.box(), ground.chance.randint(2, 5)
    poison = _poison(box, max_attempts=most)
    good = box.publish(priority=-1).event_id
    for number in range(1, most + 1):
        event = _one(box)
        expect(event.id == poison, "what is pending is not handed out again")
        if number % 2:
            box.order(Release(event.id, event.generation, 0.0, FAILED))
        else:
            _pass(ground, seconds=61)
            box.run(lambda session: timers.run_due(session, box.agent.id))
    told = box.read(poison)
    expect(
        told["status"] == "quarantined" and told["attempts"] == most,
        f"after {told['attempts']} failures of at most {most} it is {told['status']}",
    )
    expect([e.id for e in box.claim(limit=10)] == [good], "it is handed out, or in another's way")
    return f"in quarantine after {most} attempts, and the next event was handed out"


def replay(ground: Ground) -> str:
    """Redriven, an event is the same: id, number, keys, payload; its generation goes on."""
    box = ground.box()
    key = f"key-{ground.chance.getrandbits(32):08x}"
    event_id = _poison(box, max_attempts=1, ordering_key="k", idempotency_key=key)
    failed = _one(box)
    box.order(Release(failed.id, failed.generation, 0.0, FAILED))
    was = box.read(event_id)
    expect(was["status"] == "quarantined", f"after its only attempt it is {was['status']}")
    box.run(
        lambda session: quarantine.redrive(
            session, ground.tenant_id, event_id, actor="leak_test", reason="leak test"
        )
    )
    now = box.read(event_id)
    same = ("event_id", "sequence_number", "ordering_key", "ordering_sequence", "type")
    changed = [name for name in same if was[name] != now[name]]
    expect(not changed, f"a redrive changed {', '.join(changed)}")
    expect(
        (now["status"], now["redriven"], now["attempts"]) == ("pending", True, 0), "no new budget"
    )
    again = _one(box)
    expect(again.id == event_id, "what was redriven is not handed out")
    expect(again.told["payload"] == {"poison": 1}, "a redrive changed the payload")
    expect(again.generation == failed.generation + 1, "the generation did not go on")
    expect(again.told["fence"] > failed.told["fence"], "the fence did not go on")
    expect(_is_stale(box, Ack(failed.id, failed.generation)), "the old claim settles again")
    box.order(Ack(again.id, again.generation))
    repeated = box.publish(payload=b'{"poison":1}', ordering_key="k", idempotency_key=key, **_TRIED)
    expect(repeated.event_id == event_id, "its idempotency key was forgotten")
    return "id, number, keys and payload kept, generation and fence gone on"


def quarantine_is_kept(ground: Ground) -> str:
    """Retention and whatever else tidies up leave what is in quarantine alone, whole."""
    box = ground.box()
    box.publish(priority=1)
    poison = _poison(box, max_attempts=1)
    for event in box.claim(limit=2):
        if event.id == poison:
            box.order(Release(event.id, event.generation, 0.0, FAILED))
        else:
            box.order(Ack(event.id, event.generation))
    was = box.read(poison)
    _pass(ground, days=DAYS)
    for _ in range(3):
        box.run(lambda session: retention.raise_floor(session, box.agent.id))
        box.run(lambda session: retention.archive(session, box.agent.id))
    for service in (Retention(ground.database), Pruner(ground.database)):
        service.run_once()
    rows = box.rows()
    expect([row.event_id for row in rows] == [poison], "retention left the wrong rows")
    expect(box.read(poison) == was, "what is in quarantine has changed")
    return f"whole after {DAYS} days, when what was completed was archived"


_TRIED: dict[str, Any] = {"max_attempts": 1, "backoff": (0.0, 0.0)}


def _poison(box: Box, *, max_attempts: int, **members: Any) -> bytes:
    tried = {"max_attempts": max_attempts, "backoff": (0.0, 0.0)}
    return box.publish(payload=b'{"poison":1}', **tried, **members).event_id


def _one(box: Box) -> Event:
    found = box.claim()
    expect(len(found) == 1, f"a claim of one took {len(found)}")
    return found[0]


def _is_stale(box: Box, order: Ack | Release) -> bool:
    try:
        box.order(order)
    except StaleClaim:
        return True
    return False


def _pass(ground: Ground, **length: float) -> None:
    ground.database.clock_offset += timedelta(**length)

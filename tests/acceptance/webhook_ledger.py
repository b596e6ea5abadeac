"""The books after deliveries under fire: what receivers saw, against what the database has."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import select

from restante.inbox.lifecycle import Gate
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.events import agent_inbox
from tests.acceptance.webhook_fire import WebhookFire, told


def audit(fire: WebhookFire) -> str:
    """Raise AssertionError, naming events, where the books are wrong → a summary."""
    deliveries = told(fire.arrivals)
    ended = {one.id for _, one in fire.mail[: fire.load.ended]}
    live = {event_id for event_id, one in fire.published.items() if one.id not in ended}
    rows = {encode_id(Prefix.EVENT, row.event_id): row for row in _rows(fire)}
    unheard = [event_id for event_id in live if not any(a.answered for a in deliveries[event_id])]
    assert not unheard, f"completed, and no receiver has it: {unheard[:5]}"
    open_ones = [event_id for event_id in live if rows[event_id].gate != Gate.COMPLETED]
    assert not open_ones, f"not acked: {open_ones[:5]}"
    for event_id in live:
        acked = rows[event_id].claim_generation
        assert acked in {a.claim[1] for a in deliveries[event_id]}, f"{event_id}: acked unsent"
    claims = Counter(one.claim for one in fire.arrivals)
    twice = [claim for claim, times in claims.items() if times > 1]
    assert not twice, f"one claim, sent twice: {twice[:5]}"
    renamed = [one for one in fire.arrivals if one.message_id != one.told["event_id"]]
    assert not renamed, f"another webhook-id: {renamed[:5]}"
    late = _after_the_end(fire)
    again = sum(len(deliveries[event_id]) > 1 for event_id in live)
    return (
        f"{len(live)} events delivered and acked, {again} of them more than once under one "
        f"webhook-id; {len(fire.ends)} callbacks ended, {late} deliveries were on their way then and "
        f"arrived, none began after"
    )


def _after_the_end(fire: WebhookFire) -> int:
    """→ how many came that had begun before the end of their callback committed."""
    late = 0
    for end in fire.ends:
        after = [one for one in fire.arrivals if one.path == end.path and one.number > end.number]
        begun = [one.claim for one in after if one.claim not in end.claims]
        assert not begun, f"delivered after the end of its callback: {begun[:5]}"
        late += len(after)
    return late


def _rows(fire: WebhookFire) -> list[Any]:
    query = select(agent_inbox.c.event_id, agent_inbox.c.gate, agent_inbox.c.claim_generation)
    return list(fire.database.run(lambda s: s.connection().execute(query).all()))

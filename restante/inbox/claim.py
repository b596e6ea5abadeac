"""Claim: take events under a lease. Two claimers at once get disjoint events and neither waits.

One locking statement per covered project over one index, equality on its first three columns, no
other condition (decision 0001). What it locked it takes, expires, or leaves for the next call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, func, select
from sqlalchemy.orm import Session

from restante.identity.principal import Principal, Project
from restante.inbox import history, timers
from restante.inbox.by_key import update_by_place
from restante.inbox.claim_id import ClaimId, claimed_json, forget, is_known, keep, live_events
from restante.inbox.in_flight import HELD, InFlight
from restante.inbox.lifecycle import Gate
from restante.inbox.look import COUNTED, Look, check_cursor, look
from restante.inbox.rules import PAGE_BYTES
from restante.observations import What, observe
from restante.storage.clock import offset, utc_now
from restante.storage.statement import Statement, stretch
from restante.storage.tables.events import agent_inbox, event_content


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """`projects`: covered and asked for. `after_cursor` and `epoch` filter nothing.

    `traceparent`: the trace that the claim belongs to; it goes to the timelines.
    """

    projects: tuple[Project, ...]
    limit: int = 10
    lease_seconds: int = 60
    consumer: str | None = None
    claim_id: str | None = None
    after_cursor: int | None = None
    epoch: str | None = None
    traceparent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """`events`: JSON objects, ready. `reason`: why nothing could be taken, paused or in_flight."""

    events: list[bytes]
    claim_id: str
    claimable: int
    next_poll_ms: int
    reason: str | None = None
    spent: bool = False


def claim(session: Session, agent: Principal, request: ClaimRequest) -> Claimed:
    """Claim events of the agent's own inbox. Raises CursorGone; an empty answer stores nothing."""
    claim_id = ClaimId.of(request.claim_id, request.consumer)
    seen = _look(session, agent, request)
    # after the look: a first call of this name that has just taken what it did not see is seen here
    if request.claim_id is not None and is_known(session, agent.id, claim_id):
        events = live_events(session, agent.id, request.projects, seen.now, claim_ref=claim_id.ref)
        return _answer(seen, claim_id, events, spent=not events)
    if seen.paused:
        return _answer(seen, claim_id, [], reason="paused")
    if seen.in_flight >= seen.max_in_flight:
        return _answer(seen, claim_id, [], reason="in_flight")
    keeps = request.claim_id is not None and bool(seen.best)
    if keeps:  # before anything is taken: a first call that still runs is waited for
        keep(session, agent.id, claim_id, seen.now)
    rows, now = _take(
        session, agent.id, seen, min(request.limit, seen.max_in_flight - seen.in_flight)
    )
    if not rows:
        if keeps:
            forget(session, agent.id, claim_id)
        if seen.claimable():
            observe(session, What.CLAIMED_NOTHING)
        return _answer(seen, claim_id, [])
    if request.traceparent is not None:
        history.note_claims(
            session, rows, now, consumer=request.consumer, traceparent=request.traceparent
        )
    return _answer(seen, claim_id, _lease(session, agent.id, rows, now, request, claim_id))


def _look(session: Session, agent: Principal, request: ClaimRequest) -> Look:
    """The inbox once its due timers have run, with what the agent holds where that may matter."""
    known: InFlight | None = session.info.get(HELD)
    counts_held = known is None or not known.take_far(agent.id, request.limit)

    def once() -> Look:
        counted = COUNTED + request.limit
        return look(session, agent, request.projects, counted=counted, counts_held=counts_held)

    seen = once()
    if known is not None and not counts_held and not known.was_of(agent.id, seen.max_in_flight):
        counts_held = True
        seen = once()
    check_cursor(session, agent.id, seen, request.after_cursor, request.epoch)
    if seen.is_due and timers.run_due(session, agent.id, nowait=True):
        seen = once()
    if known is not None and counts_held:
        held = seen.in_flight + request.limit
        known.count(agent.id, held=held, most=seen.max_in_flight)
    return seen


def _answer(
    seen: Look,
    claim_id: ClaimId,
    events: list[bytes],
    *,
    reason: str | None = None,
    spent: bool = False,
) -> Claimed:
    claimable = 0 if seen.paused else seen.claimable(taken=len(events))
    return Claimed(
        events=events,
        claim_id=claim_id.text if events or spent else claim_id.unused,
        claimable=claimable,
        next_poll_ms=seen.next_poll_ms(claimable),
        reason=reason,
        spent=spent,
    )


def _take(
    session: Session, recipient_id: bytes, seen: Look, room: int
) -> tuple[list[Any], datetime]:
    """Lock up to `room` rows, the best project first, no more than a page of payload."""
    taken: list[Any] = []
    now, size = seen.now, 0
    for _, project in seen.best:
        rows = _LOCK.rows(
            session,
            {"recipient": recipient_id, "project": project.id, "room": room - len(taken)},
        )
        for row in rows:
            now = row.now + offset(session)
            if row.expires_at is not None and row.expires_at <= now:
                continue  # its timer is due: the next look expires it
            size += row.payload_bytes
            if taken and size > PAGE_BYTES:
                return taken, now
            taken.append(row)
        if len(taken) >= room:
            break
    return taken, now


def _lease(
    session: Session,
    recipient_id: bytes,
    rows: Sequence[Any],
    now: datetime,
    request: ClaimRequest,
    claim_id: ClaimId,
) -> list[bytes]:
    """Put the locked rows under a lease → the events as JSON, in the order of `rows`."""
    again = sum(row.claim_generation > 0 for row in rows)
    if again < len(rows):
        observe(session, What.CLAIMED, "first", times=len(rows) - again)
    if again:
        observe(session, What.CLAIMED, "again", times=again)
    ends = now + timedelta(seconds=request.lease_seconds)
    numbers = stretch([row.sequence_number for row in rows])
    _CLAIM.later(
        session,
        {
            "recipient": recipient_id,
            "numbers": numbers,
            "consumer_is": request.consumer or "",
            "ref": claim_id.ref,
            "now": now,
            "ends": ends,
        },
    )
    contents = {
        content.sequence_number: content
        for content in _CONTENT.rows(session, {"recipient": recipient_id, "numbers": numbers})
    }
    return [
        claimed_json(
            row,
            contents[row.sequence_number],
            generation=row.claim_generation + 1,
            attempts=row.attempts + 1,
            ends=ends,
            now=now,
        )
        for row in rows
    ]


_LOCK = Statement(
    select(
        agent_inbox.c.sequence_number,
        agent_inbox.c.event_id,
        agent_inbox.c.payload_bytes,
        agent_inbox.c.attempts,
        agent_inbox.c.max_attempts,
        agent_inbox.c.claim_generation,
        agent_inbox.c.ordering_sequence,
        agent_inbox.c.fence_base,
        agent_inbox.c.available_at,
        agent_inbox.c.expires_at,
        agent_inbox.c.redriven,
        # a statement that never waits has a fresh clock
        utc_now().label("now"),
    )
    .with_hint(agent_inbox, "FORCE INDEX (claim)", "mysql")
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.project_id == bindparam("project"),
        agent_inbox.c.gate == Gate.CLAIMABLE.value,
    )
    .order_by(agent_inbox.c.rank, agent_inbox.c.sequence_number)
    .limit(bindparam("room"))
    .with_for_update(skip_locked=True)
)
_CLAIM = Statement(
    update_by_place()
    .where(
        agent_inbox.c.recipient_id == bindparam("recipient"),
        agent_inbox.c.sequence_number.in_(bindparam("numbers", expanding=True)),
    )
    .values(
        gate=Gate.CLAIMED.value,
        claim_generation=agent_inbox.c.claim_generation + 1,
        attempts=agent_inbox.c.attempts + 1,
        consumer=bindparam("consumer_is"),
        claim_ref=bindparam("ref"),
        claimed_at=bindparam("now"),
        first_claimed_at=func.coalesce(agent_inbox.c.first_claimed_at, bindparam("now")),
        claim_expires_at=bindparam("ends"),
        due_at=bindparam("ends"),
        not_before=None,
        claim_ended_by=0,
    )
)
_CONTENT = Statement(
    select(
        event_content.c.sequence_number, event_content.c.envelope, event_content.c.payload
    ).where(
        event_content.c.recipient_id == bindparam("recipient"),
        event_content.c.sequence_number.in_(bindparam("numbers", expanding=True)),
    )
)

"""Release and reject: an event that its holder gives back, or gives up. Behind the fence."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session

from restante.identity.principal import Principal
from restante.inbox import ending, history
from restante.inbox.ending import Landed
from restante.inbox.envelope import instant
from restante.inbox.failures import Failure, Outcome
from restante.inbox.fencing import Held
from restante.inbox.history import Kind
from restante.inbox.lifecycle import STATUS_OF, ClaimEnd, Gate
from restante.inbox.orders import Answer, Reject, Release
from restante.inbox.rules import rules
from restante.observations import What, observe
from restante.storage.ids import Prefix, encode_id


def release(session: Session, held: Held, order: Release, row: Any) -> Answer:
    """Give it back: with an error a failed attempt; without one the attempt is given back too."""
    history.note(
        session,
        row.event_id,
        Kind.RELEASED,
        held.now,
        generation=row.claim_generation,
        consumer=row.consumer,
        reason=None if order.error is None else order.error.code,
    )
    delay = None if order.delay_seconds is None else timedelta(seconds=order.delay_seconds)
    if order.error is not None:
        return _told(row, ending.fail(session, row, order.error, held.now, held.keys, delay=delay))
    return _told(row, _give_back(session, held, row, delay))


def reject(session: Session, agent: Principal, held: Held, order: Reject, row: Any) -> Answer:
    """Quarantine now, whatever attempts are left; cancelled where that was asked for."""
    history.note(
        session,
        row.event_id,
        Kind.REJECTED,
        held.now,
        generation=row.claim_generation,
        consumer=row.consumer,
        reason=order.reason,
        actor=agent.public_id,
    )
    if row.cancel_requested:
        return _told(row, ending.cancel(session, row, held.now, held.keys))
    observe(session, What.ATTEMPT_FAILED, "rejected")
    failure = Failure("rejected", order.reason, Outcome.FAILED)
    return _told(
        row, ending.quarantine(session, row, failure, held.now, held.keys, reason="rejected")
    )


def _give_back(session: Session, held: Held, row: Any, delay: timedelta | None) -> Landed:
    """More than `max_releases` immediate ones in a row are a loop."""
    now, most = held.now, rules(session).max_releases
    if row.cancel_requested:
        return ending.cancel(session, row, now, held.keys)
    if row.expires_at is not None and row.expires_at <= now:
        return ending.finish(session, row, Gate.EXPIRED, now, held.keys, reason="expires_at")
    releases = 0 if delay else row.releases + 1
    if releases > most:
        failure = Failure(
            "release_loop", f"It was released {releases} times in a row.", Outcome.NONE
        )
        return ending.quarantine(session, row, failure, now, held.keys, reason="release_loop")
    return ending.wait(
        session,
        row,
        now,
        until=now + delay if delay else None,
        attempts=row.attempts - 1,
        releases=releases,
        claim_ended_by=ClaimEnd.GIVEN_BACK,
    )


def _told(row: Any, landed: Landed) -> Answer:
    return {
        "event_id": encode_id(Prefix.EVENT, row.event_id),
        "status": STATUS_OF[landed.gate],
        "not_before": instant(landed.not_before),
    }

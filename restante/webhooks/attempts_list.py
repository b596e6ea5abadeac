"""What was tried to deliver through a callback, newest first: outcomes by category, never an answer.

What the network did is one outcome without a time, whether it was refused, hung, or led to where nobody
is called: whoever may point a name somewhere else would have a scanner.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.principal import Principal
from restante.identity.roles import Right
from restante.storage import page_token
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.callbacks import callback_attempt
from restante.webhooks.callbacks import Callback, find_callback
from restante.webhooks.outcomes import Outcome


@dataclass(frozen=True, slots=True)
class Attempt:
    """`event_id` None: it said only that something is there. `status`: of HTTP.

    `status`, `duration_ms` None: there was no answer. `next_at`: when the callback was to be tried again.
    """

    at: datetime
    event_id: str | None
    outcome: Outcome
    status: int | None
    duration_ms: int | None
    attempt: int
    next_at: datetime | None


def list_attempts(
    session: Session,
    who: Administrator,
    public_id: str,
    *,
    limit: int,
    token: str | None = None,
) -> tuple[list[Attempt], str | None]:
    """Those that retention has left → (attempts, next page token).

    Raises NotFound, PageTokenInvalid and what `Administrator.require` does.
    """
    who.require(Right.CALLBACKS_READ)
    found = find_callback(session, who.tenant_id, public_id)
    return _page(session, found, limit=limit, token=token)


def list_own_attempts(
    session: Session, agent: Principal, public_id: str, *, limit: int, token: str | None = None
) -> tuple[list[Attempt], str | None]:
    """The same, of a callback of the agent's own. Raises NotFound and PageTokenInvalid."""
    found = find_callback(session, agent.tenant_id, public_id, agent_id=agent.id)
    return _page(session, found, limit=limit, token=token)


def _page(
    session: Session, found: Callback, *, limit: int, token: str | None
) -> tuple[list[Attempt], str | None]:
    of = ("attempts", found.tenant_id.hex(), found.public_id)
    before = page_token.take(session, of, token)
    query = select(callback_attempt).where(callback_attempt.c.callback_id == found.id)
    if before is not None:
        query = query.where(callback_attempt.c.attempt_id < bytes.fromhex(before))
    newest_first = query.order_by(callback_attempt.c.attempt_id.desc()).limit(limit + 1)
    rows = session.connection().execute(newest_first).all()
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.attempt_id.hex())
    return list(map(_told, shown)), more


def _told(row: Any) -> Attempt:
    outcome = Outcome(row.outcome)
    return Attempt(
        at=row.at,
        event_id=None if row.event_id is None else encode_id(Prefix.EVENT, row.event_id),
        outcome=Outcome.FAILED if outcome is Outcome.BLOCKED else outcome,
        status=row.status,
        duration_ms=None if row.status is None else row.duration_ms,
        attempt=row.attempt,
        next_at=row.next_at,
    )

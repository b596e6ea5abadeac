"""Callbacks as those go through them who decide: how many wait for that, and what else there is."""

from __future__ import annotations

from sqlalchemy import and_, func, literal, select, true
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.storage.tables.callbacks import callback
from restante.webhooks.callbacks import CallbackPage, page_of
from restante.webhooks.states import Status

COUNTED = 100
"""More of a status than this are not counted."""
WAITS = Status.PENDING_APPROVAL


def count_callbacks(session: Session, who: Administrator, status: Status = WAITS) -> int:
    """How many of the tenant's callbacks are of a status, or wait for approval; at most COUNTED + 1.

    Raises what `Administrator.require` does.
    """
    who.require(Right.CALLBACKS_READ)
    waiting = (
        select(literal(1).label("one"))
        .where(callback.c.tenant_id == who.tenant_id, callback.c.status == status.value)
        .limit(COUNTED + 1)
        .subquery()
    )
    query = select(func.count()).select_from(waiting)
    return int(session.connection().execute(query).scalar_one())


def list_for_review(
    session: Session,
    who: Administrator,
    *,
    limit: int,
    token: str | None = None,
    status: Status | None = None,
    agent_id: bytes | None = None,
    waiting: bool = True,
) -> CallbackPage:
    """The tenant's that are not removed, oldest first: of a status, of an agent where they are named.

    `waiting` False: without those that wait for approval. Raises PageTokenInvalid and what
    `Administrator.require` does.
    """
    who.require(Right.CALLBACKS_READ)
    named = (status or "", "" if agent_id is None else agent_id.hex(), str(waiting))
    of = ("callbacks-in-review", who.tenant_id.hex(), *named)
    wanted = [] if waiting else [callback.c.status != WAITS.value]
    if status is not None:
        wanted.append(callback.c.status == status.value)
    if agent_id is not None:
        wanted.append(callback.c.agent_id == agent_id)
    return page_of(session, of, and_(true(), *wanted), who.tenant_id, limit, token)

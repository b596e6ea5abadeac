"""Callbacks as those go through them who decide: how many wait for that, and what else there is."""

from __future__ import annotations

from sqlalchemy import func, literal, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.storage import page_token
from restante.storage.tables.callbacks import callback
from restante.storage.tables.identity import principal
from restante.webhooks.callbacks import Callback, CallbackPage, callback_of
from restante.webhooks.states import Status

COUNTED = 100
"""More that wait for approval than this are not counted."""
WAITS = Status.PENDING_APPROVAL


def count_waiting(session: Session, who: Administrator) -> int:
    """How many of the tenant's callbacks wait for approval; at most COUNTED + 1.

    Raises what `Administrator.require` does.
    """
    who.require(Right.CALLBACKS_READ)
    waiting = (
        select(literal(1).label("one"))
        .where(callback.c.tenant_id == who.tenant_id, callback.c.status == WAITS.value)
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
    after = page_token.take(session, of, token)
    left_out = [Status.REMOVED.value, *([] if waiting else [WAITS.value])]
    query = (
        select(callback, principal.c.name)
        .join(principal, principal.c.principal_id == callback.c.agent_id)
        .where(callback.c.tenant_id == who.tenant_id, callback.c.status.not_in(left_out))
    )
    if status is not None:
        query = query.where(callback.c.status == status.value)
    if agent_id is not None:
        query = query.where(callback.c.agent_id == agent_id)
    if after is not None:
        query = query.where(callback.c.callback_id > bytes.fromhex(after))
    rows = session.connection().execute(query.order_by(callback.c.callback_id).limit(limit + 1))
    found: list[Callback] = list(map(callback_of, rows))
    shown = found[:limit]
    more = page_token.give(session, of, shown[-1].id.hex()) if found[limit:] else None
    return CallbackPage(shown, more)

"""What changes about a session while it lasts; its cookie gets a new value each time (fixation)."""

from __future__ import annotations

from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.entries import IN_PROCESS, Origin
from restante.errors import NotFound
from restante.identity.operators import Operator
from restante.identity.sessions import SignedIn, hash_of, new_token, record_session
from restante.storage.clock import database_now
from restante.storage.tables.operators import operator_session


def prove_anew(session: Session, who: SignedIn, *, by: Origin = IN_PROCESS) -> str:
    """The cookie's new value of the session of somebody who has just proved again who he is.

    How old the session may get stays. NotFound where it has ended.
    """
    token = _changed(session, who, sudo_at=database_now(session))
    record_session(session, Action.SESSION_SUDO, who.operator, who.session_id, by)
    return token


def change_operator(
    session: Session, who: SignedIn, other: Operator, *, by: Origin = IN_PROCESS
) -> str:
    """The cookie's new value of a session that is another operator's from now on, who is the same person."""
    token = _changed(session, who, operator_id=other.id)
    record_session(session, Action.SESSION_END, who.operator, who.session_id, by)
    reason = f"changed to, as {who.method}"
    record_session(session, Action.SESSION_BEGIN, other, who.session_id, by, reason=reason)
    return token


def _changed(session: Session, who: SignedIn, **values: Any) -> str:
    token = new_token()
    changed = session.connection().execute(
        update(operator_session)
        .where(
            operator_session.c.session_id == who.session_id,
            operator_session.c.operator_id == who.operator.id,
        )
        .values(token_hash=hash_of(token), **values)
    )
    if not changed.rowcount:
        raise NotFound
    return token

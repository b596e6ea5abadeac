"""Operators who keep a page open: whether many of them may still watch, asked at once."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.identity.operators import OperatorStatus
from restante.identity.sessions import SignedIn
from restante.storage.clock import database_now
from restante.storage.tables.operators import operator, operator_session


@dataclass(frozen=True, slots=True)
class Watcher:
    """A session as it was when its page was opened."""

    session_id: bytes
    tenant_id: bytes | None
    role: str

    @classmethod
    def of(cls, who: SignedIn) -> Self:
        """Who is signed in, as he is now."""
        return cls(who.session_id, who.operator.tenant_id, who.operator.role.value)


def may_watch(session: Session, watchers: Collection[Watcher]) -> set[Watcher]:
    """Those whose session is not over and whose operator is active and has the same role still.

    One statement, however many are asked about; it is no use of a session.
    """
    ids = sorted({watcher.session_id for watcher in watchers})
    if not ids:
        return set()
    values = {"sessions": ids, "now": database_now(session)}
    rows = session.connection().execute(_LIVE, values)
    live = {Watcher(row.session_id, row.tenant_id, row.role) for row in rows}
    return live.intersection(watchers)


_LIVE = (
    select(operator_session.c.session_id, operator.c.tenant_id, operator.c.role)
    .join(operator, operator.c.operator_id == operator_session.c.operator_id)
    .where(
        operator_session.c.session_id.in_(bindparam("sessions", expanding=True)),
        operator_session.c.expires_at > bindparam("now"),
        operator.c.status == OperatorStatus.ACTIVE.value,
    )
)

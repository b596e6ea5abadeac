"""Whether something is on fire: one cause that puts many events into quarantine right now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.triage.listing import COUNTED
from restante.storage.clock import database_now
from restante.storage.tables.failures import event_failure

BURNS = timedelta(minutes=15)
"""A fire is out once so long nobody of its cause came in."""
MANY = 10
"""So many of one cause within that time are a fire; fewer stand in the overview."""
RISING = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    """`count`: of the worst cause, COUNTED + 1 when there are more; `others`: causes that burn besides."""

    failure_signature: str
    count: int
    since: datetime
    rising: bool
    others: int

    @property
    def shown(self) -> str:
        """The count as one reads it."""
        return f"{COUNTED:,}+" if self.count > COUNTED else f"{self.count:,}"


def fire(session: Session, administrator: Administrator) -> Fire | None:
    """The worst; None when it is calm. Reads the quarantine of the last quarter of an hour by its index."""
    administrator.require(Right.QUARANTINE_READ)
    connection, failure = session.connection(), event_failure.c
    now = database_now(session)
    lately = (
        select(failure.failure_signature, failure.quarantined_at)
        .where(failure.tenant_id == administrator.tenant_id, failure.quarantined_at > now - BURNS)
        .order_by(failure.quarantined_at.desc())
        .limit(COUNTED)
        .subquery()
    )
    rows = connection.execute(
        select(
            lately.c.failure_signature,
            func.count().label("events"),
            func.max(lately.c.quarantined_at).label("last_at"),
        )
        .group_by(lately.c.failure_signature)
        .having(func.count() >= MANY)
        .order_by(func.count().desc(), lately.c.failure_signature)
    ).all()
    if not rows:
        return None
    of_cause = (
        select(failure.quarantined_at)
        .where(
            failure.tenant_id == administrator.tenant_id,
            failure.failure_signature == rows[0].failure_signature,
            failure.quarantined_at.is_not(None),
        )
        .order_by(failure.quarantined_at)
        .limit(COUNTED + 1)
        .subquery()
    )
    whole = connection.execute(
        select(func.count().label("events"), func.min(of_cause.c.quarantined_at).label("since"))
    ).one()
    return Fire(
        failure_signature=rows[0].failure_signature,
        count=whole.events,
        since=whole.since,
        rising=now - rows[0].last_at < RISING,
        others=len(rows) - 1,
    )

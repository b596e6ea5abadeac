"""Whether something is on fire: one cause that puts many events into quarantine right now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.triage.listing import COUNTED, count_of_cause
from restante.inbox.triage.selection import Filter
from restante.storage.clock import database_now
from restante.storage.tables.failures import event_failure

BURNS = timedelta(minutes=15)
"""A fire is out once so long nobody of its cause came in."""
MANY = 10
"""So many of one cause within that time are a fire; fewer stand in the overview."""
LOOKED_AT = 300
"""Which causes burn is told by so many that came in last: every page of the console asks."""
RISING = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fire:
    """`count`: of the worst cause, most + 1 when there are more; `others`: causes that burn besides."""

    failure_signature: str
    count: int
    most: int
    since: datetime
    rising: bool
    others: int

    @property
    def shown(self) -> str:
        """The count as one reads it."""
        return f"{self.most:,}+" if self.count > self.most else f"{self.count:,}"


def fire(session: Session, administrator: Administrator, *, most: int = COUNTED) -> Fire | None:
    """The worst, counted to `most`; None: it is calm. Of what came in last, in a quarter of an hour."""
    administrator.require(Right.QUARANTINE_READ)
    connection, failure = session.connection(), event_failure.c
    now = database_now(session)
    lately = (
        select(failure.failure_signature, failure.quarantined_at)
        .with_hint(event_failure, Filter().by_time(), "mysql")
        .where(failure.tenant_id == administrator.tenant_id, failure.quarantined_at > now - BURNS)
        .order_by(failure.quarantined_at.desc())
        .limit(LOOKED_AT)
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
    worst = rows[0].failure_signature
    first = (
        select(failure.quarantined_at)
        .with_hint(event_failure, Filter(failure_signature=worst).by_time(), "mysql")
        .where(
            failure.tenant_id == administrator.tenant_id,
            failure.failure_signature == worst,
            failure.quarantined_at.is_not(None),
        )
        .order_by(failure.quarantined_at)
        .limit(1)
    )
    return Fire(
        failure_signature=worst,
        count=count_of_cause(session, administrator, worst, most=most),
        most=most,
        since=connection.execute(first).scalar_one(),
        rising=now - rows[0].last_at < RISING,
        others=len(rows) - 1,
    )

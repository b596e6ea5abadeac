"""Samples: the figures of an installation at an instant, kept for /metrics and for history.

One sampler writes a slot of time; the others find it taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.storage.clock import database_now
from restante.storage.tables.operation import sample
from restante.storage.transaction import Repeat

SLOT_SECONDS = 15
ALL = "all"
"""The scope of figures that are everybody's; others are an agent's public id."""

Figures = dict[tuple[str, str], float]
"""(scope, measure) → amount"""


class Measure(StrEnum):
    """What is sampled."""

    SLOT = "slot"  # the mark that a slot is taken
    PENDING = "pending"
    DEPTH_OF_THE_REST = "depth_of_the_rest"
    OLDEST_PENDING_AGE = "oldest_pending_age_seconds"
    OLDEST_TIMER_AGE = "oldest_expired_lease_age_seconds"
    SAMPLE_AGE = "sample_age_seconds"  # told with the others, not kept


def take_slot(session: Session) -> datetime | None:
    """Take the present slot of time; None where it is taken."""
    now = database_now(session)
    slot = now.replace(microsecond=0) - timedelta(seconds=now.second % SLOT_SECONDS)
    taken = session.connection().execute(
        select(sample.c.amount).where(
            sample.c.sampled_at == slot, sample.c.scope == ALL, sample.c.measure == Measure.SLOT
        )
    )
    if taken.first() is not None:
        return None
    try:
        write_samples(session, slot, {(ALL, Measure.SLOT): 1.0})
    except IntegrityError as error:
        raise Repeat from error  # another sampler was first: the next look finds its mark
    return slot


def write_samples(
    session: Session, slot: datetime, figures: Mapping[tuple[str, str], float]
) -> None:
    """Write figures of a slot that was taken."""
    session.connection().execute(
        insert(sample),
        [
            {"sampled_at": slot, "scope": scope, "measure": measure, "amount": amount}
            for (scope, measure), amount in sorted(figures.items())
        ],
    )


def latest_samples(session: Session) -> Figures:
    """The figures of the last slot that is complete, without those of one taken and not yet written."""
    last = (
        session.connection()
        .execute(
            select(sample.c.sampled_at)
            .where(sample.c.scope == ALL, sample.c.measure == Measure.PENDING)
            .order_by(sample.c.sampled_at.desc())
            .limit(1)
        )
        .scalar()
    )
    if last is None:
        return {}
    rows = session.connection().execute(
        select(sample.c.scope, sample.c.measure, sample.c.amount).where(
            sample.c.sampled_at == last, sample.c.measure != Measure.SLOT
        )
    )
    figures = {(row.scope, row.measure): row.amount for row in rows}
    age = (database_now(session) - last).total_seconds()
    return figures | {(ALL, Measure.SAMPLE_AGE): max(0.0, age)}

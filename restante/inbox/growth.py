"""Inboxes that fall behind: how much deeper they are than a quarter of an hour ago, by the samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.inbox.inbox_list import InboxLine
from restante.inbox.lifecycle import Status
from restante.sampling.samples import ALL, Measure
from restante.storage.clock import database_now
from restante.storage.tables.operation import sample

AGO = timedelta(minutes=15)
LOOKED_BACK = timedelta(minutes=5)
"""How much older the sample may be that is compared with."""
LEAST = 100
SHARE = 0.2


def growing(session: Session, lines: Sequence[InboxLine]) -> dict[str, int]:
    """By agent's public id, of those that grew by a fifth and a hundred events at least: how many more.

    Only inboxes that were among the deepest then have a sample; what is new on that list is not told of.
    """
    then = database_now(session) - AGO
    connection = session.connection()
    at = connection.execute(
        select(func.max(sample.c.sampled_at)).where(
            sample.c.sampled_at <= then,
            sample.c.sampled_at > then - LOOKED_BACK,
            sample.c.scope == ALL,
            sample.c.measure == Measure.PENDING,
        )
    ).scalar()
    if at is None or not lines:
        return {}
    ids = [line.agent.public_id for line in lines]
    rows = connection.execute(
        select(sample.c.scope, sample.c.amount).where(
            sample.c.sampled_at == at, sample.c.scope.in_(ids), sample.c.measure == Measure.PENDING
        )
    )
    before: Mapping[str, float] = {row.scope: row.amount for row in rows}
    found = {}
    for line in lines:
        pending, known = line.counts[Status.PENDING], before.get(line.agent.public_id)
        if known is not None and pending - known >= max(LEAST, SHARE * known):
            found[line.agent.public_id] = round(pending - known)
    return found

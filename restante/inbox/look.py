"""The first look at an inbox: one statement that says what there is, what is due, who may claim.

No locks. A covered project costs one index range that stops at what is asked for.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Select, bindparam, func, literal, literal_column, select
from sqlalchemy.orm import Session

from restante.errors import CursorGone, NotFound
from restante.identity.principal import Principal, Project
from restante.inbox.lifecycle import Gate
from restante.inbox.polling import STREAM_ALIVE, next_poll_ms
from restante.inbox.rules import rules
from restante.storage.base import Number
from restante.storage.clock import offset, utc_now, utc_now_plus
from restante.storage.ids import Prefix, encode_id
from restante.storage.statement import Statement
from restante.storage.tables.events import agent_inbox, archived_event, scheduled_event
from restante.storage.tables.identity import principal, project
from restante.storage.tables.inboxes import inbox
from restante.storage.tables.signals import node, open_stream

COUNTED = 100
"""`claimable` is counted to here."""

HELD_COUNTED = 10_000
"""Claimed events are counted to here; no agent may hold more."""


@dataclass(frozen=True, slots=True)
class Look:
    """An inbox as one statement saw it. `best`: (rank of the first, project), best first."""

    now: datetime
    epoch: bytes
    head: int
    oldest_cursor: int
    changed_at: datetime | None
    paused: bool
    max_in_flight: int
    is_due: bool
    streaming: bool
    in_flight: int
    counted: int
    best: tuple[tuple[int, Project], ...]

    def claimable(self, taken: int = 0) -> int:
        """How many could be claimed, to 100, once `taken` of those seen are gone."""
        return max(0, min(COUNTED, self.counted - taken))

    def next_poll_ms(self, claimable: int) -> int:
        """When a poller should ask again."""
        return next_poll_ms(
            claimable=claimable,
            idle=None if self.changed_at is None else self.now - self.changed_at,
            streaming=self.streaming,
            uniform=random.uniform,
        )


def look(
    session: Session,
    agent: Principal,
    projects: Sequence[Project],
    *,
    counted: int = COUNTED,
    counts_held: bool = False,
) -> Look:
    """Look at the agent's inbox; claimable events of `projects` are counted to `counted`.

    `counts_held`: also how many events the agent holds; otherwise `in_flight` is 0.
    """
    ordered = sorted(projects, key=lambda p: p.id)
    values: dict[str, Any] = {
        "recipient": agent.id,
        "counted": counted,
        "shift": offset(session) // timedelta(microseconds=1),
    }
    if counts_held:
        values["tenant"] = agent.tenant_id
    values.update({f"project_{i}": p.id for i, p in enumerate(ordered)})
    row = _statement(len(ordered), counts_held=counts_held).first(session, values)
    if row is None:
        raise NotFound
    now = row.now + offset(session)
    counts, ranks = row[-2 * len(ordered) :: 2], row[-2 * len(ordered) + 1 :: 2]
    best = sorted(
        (
            (rank, p)
            for rank, count, p in zip(ranks, counts, ordered, strict=True)
            if rank is not None and count
        ),
        key=lambda pair: pair[0],
    )
    return Look(
        now=now,
        epoch=row.epoch,
        head=row.head,
        oldest_cursor=row.oldest_cursor,
        changed_at=row.changed_at,
        paused=bool(row.paused),
        max_in_flight=rules(session).max_in_flight
        if row.max_in_flight is None
        else row.max_in_flight,
        is_due=row.is_due is not None or row.is_scheduled_due is not None,
        streaming=row.stream_seen_at is not None and now - row.stream_seen_at < STREAM_ALIVE,
        in_flight=row.in_flight if counts_held else 0,
        counted=sum(counts),
        best=tuple(best),
    )


def check_cursor(
    session: Session, recipient_id: bytes, seen: Any, after_cursor: int | None, epoch: str | None
) -> None:
    """CursorGone where this cursor's history is gone: purged, beyond head, or of another epoch.

    `seen` has epoch, head and oldest_cursor, read after the rows that are answered.
    """
    reason = None
    is_of_another = epoch is not None and epoch != seen.epoch.hex()
    if is_of_another or (after_cursor is not None and after_cursor > seen.head):
        reason = "epoch"
    elif after_cursor is not None and after_cursor < seen.oldest_cursor:
        reason = "retention"
    if reason is None:
        return
    lost = None
    if reason == "retention" and after_cursor is not None:
        lost = {
            "from": after_cursor + 1,
            "to": seen.oldest_cursor,
            "count": seen.oldest_cursor - after_cursor,
            "unsettled": _lost_unsettled(session, recipient_id, after_cursor, seen.oldest_cursor),
        }
    raise CursorGone(
        reason=reason,
        oldest_cursor=seen.oldest_cursor,
        head=seen.head,
        epoch=seen.epoch.hex(),
        lost=lost,
        state_url=f"/api/v1/agents/{encode_id(Prefix.AGENT, recipient_id)}/state",
    )


def _lost_unsettled(session: Session, recipient_id: bytes, after: int, to: int) -> int:
    unsettled = (
        select(literal(1).label("one"))
        .where(
            archived_event.c.recipient_id == recipient_id,
            archived_event.c.sequence_number > after,
            archived_event.c.sequence_number <= to,
            archived_event.c.reason == "retention",
        )
        .limit(10_000)
        .subquery()
    )
    return session.connection().execute(select(func.count()).select_from(unsettled)).scalar_one()


@cache
def _statement(covered: int, *, counts_held: bool) -> Statement:
    """The look at an inbox with so many covered projects; made once for each number."""
    return Statement(_build(covered, counts_held=counts_held))


def _build(covered: int, *, counts_held: bool) -> Select[Any]:
    recipient: BindParameter[bytes] = bindparam("recipient")
    # no further than now: what is later and just acked is still in the index until it is purged
    now = utc_now_plus(bindparam("shift", type_=Number))
    due: Select[Any] = (
        select(literal_column("1"))
        .select_from(agent_inbox)
        .with_hint(agent_inbox, "FORCE INDEX (due_of_inbox)", "mysql")
        .where(agent_inbox.c.recipient_id == recipient, agent_inbox.c.due_at <= now)
        .limit(1)
    )
    scheduled_due: Select[Any] = (
        select(literal_column("1"))
        .select_from(scheduled_event)
        .with_hint(scheduled_event, "FORCE INDEX (scheduled_of_inbox)", "mysql")
        .where(scheduled_event.c.recipient_id == recipient, scheduled_event.c.due_at <= now)
        .limit(1)
    )
    streams = (
        select(func.max(node.c.seen_at))
        .select_from(open_stream)
        .join(node, node.c.node_id == open_stream.c.node_id)
        .where(open_stream.c.recipient_id == recipient)
    )
    # what the agent holds, in whatever project: with the projects first the claim's index answers by
    # equality; the other way round, which a server may take by its samples, it walks the whole inbox
    held = (
        select(literal(1).label("one"))
        .prefix_with("STRAIGHT_JOIN", dialect="mysql")
        .with_hint(agent_inbox, "FORCE INDEX (claim)", "mysql")
        .select_from(project)
        .join(
            agent_inbox,
            (agent_inbox.c.recipient_id == recipient)
            & (agent_inbox.c.project_id == project.c.project_id)
            & (agent_inbox.c.gate == Gate.CLAIMED.value),
        )
        .where(project.c.tenant_id == bindparam("tenant"))
        .limit(HELD_COUNTED)
        .subquery()
    )
    columns: list[Any] = [
        utc_now().label("now"),
        inbox.c.epoch,
        inbox.c.head,
        inbox.c.oldest_cursor,
        inbox.c.changed_at,
        principal.c.paused,
        principal.c.max_in_flight,
        due.scalar_subquery().label("is_due"),
        scheduled_due.scalar_subquery().label("is_scheduled_due"),
        streams.scalar_subquery().label("stream_seen_at"),
    ]
    if counts_held:
        columns.append(select(func.count()).select_from(held).scalar_subquery().label("in_flight"))
    for i in range(covered):
        claimable = (
            select(agent_inbox.c.rank)
            .with_hint(agent_inbox, "FORCE INDEX (claim)", "mysql")
            .where(
                agent_inbox.c.recipient_id == recipient,
                agent_inbox.c.project_id == bindparam(f"project_{i}"),
                agent_inbox.c.gate == Gate.CLAIMABLE.value,
            )
            .order_by(agent_inbox.c.rank, agent_inbox.c.sequence_number)
        )
        counted = claimable.limit(bindparam("counted")).subquery()
        columns.append(
            select(func.count()).select_from(counted).scalar_subquery().label(f"count_{i}")
        )
        # which of one is the best needs no look
        first = literal(0) if covered == 1 else claimable.limit(1).scalar_subquery()
        columns.append(first.label(f"rank_{i}"))
    return (
        select(*columns)
        .select_from(inbox)
        .join(principal, principal.c.principal_id == inbox.c.recipient_id)
        .where(inbox.c.recipient_id == recipient)
    )

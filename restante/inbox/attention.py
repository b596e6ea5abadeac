"""What a tenant's operators should look at first: causes of quarantine, and inboxes that wait for somebody.

The inboxes looked at are those that hold the most by the last sample and, where it knows of few, those
that may by the bound that publishing keeps: events are not counted to find them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import MachineStatus, find_machine
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.inbox.escalation_list import Escalation, list_unread
from restante.inbox.filling import Filling, list_filling
from restante.inbox.inbox_list import MOST, InboxLine, line_of
from restante.inbox.lifecycle import Status
from restante.inbox.reachability import POLLS
from restante.inbox.triage.causes import Group, list_groups
from restante.inbox.triage.selection import Filter
from restante.inbox.untaken import Untaken, list_untaken
from restante.sampling.history import Standing
from restante.sampling.inbox_history import fresh_depths, fresh_standing
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.inboxes import inbox
from restante.storage.tables.operation import inbox_standing

INBOXES = 20
CAUSES = 3
UNREAD = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """`inboxes`: the deepest, with something that is not done; `all_seen`: there are no others.

    `away`: those of them with pending mail whose agent has not been there lately; `paused`, `disabled`:
    with mail. `filling`: of all inboxes. `untaken`: leases that ended, of those looked at. Of agents that are
    removed nobody has anything to do. `unread`: of the newest events that the operators were told of, those
    that still wait. `sampled`: all inboxes by the last sample, None where nobody samples.
    """

    causes: Sequence[Group]
    more_causes: int
    inboxes: Sequence[InboxLine]
    all_seen: bool
    away: Sequence[InboxLine]
    paused: Sequence[InboxLine]
    disabled: Sequence[InboxLine]
    filling: Sequence[Filling]
    untaken: Sequence[Untaken]
    unread: Sequence[Escalation]
    sampled: Standing | None
    oldest_sampled_at: datetime | None

    def total(self, status: Status) -> tuple[int, bool]:
        """Events of that state in all inboxes, and whether there may be more.

        Where not all were looked at, as many as the last sample says, if it says anything of that state.
        """
        counts = [line.counts[status] for line in self.inboxes]
        least, capped = sum(min(count, MOST) for count in counts), max(counts, default=0) > MOST
        if self.all_seen:
            return least, capped
        told = {Status.PENDING: "pending", Status.CLAIMED: "claimed"}.get(status)
        if self.sampled is None or told is None:
            return least, True
        return max(least, getattr(self.sampled, told)), False

    @property
    def oldest_pending_at(self) -> datetime | None:
        """The first instant at which one that waits became available."""
        known = [line.oldest_pending_at for line in self.inboxes]
        known += [] if self.all_seen else [self.oldest_sampled_at]
        return min((one for one in known if one is not None), default=None)


def attention(session: Session, administrator: Administrator) -> Attention:
    """Now. Costs three statements an inbox looked at, and none over events but by the claim's index."""
    administrator.require(Right.EVENTS_READ)
    groups = list_groups(session, administrator, Filter())
    now = database_now(session)
    ids = _deepest(session, administrator.tenant_id, INBOXES + 1)
    sampled = fresh_depths(session, administrator.tenant_id, ids[:INBOXES], now)
    lines = []
    for recipient_id in ids[:INBOXES]:
        public_id = encode_id(Prefix.AGENT, recipient_id)
        agent = find_machine(session, administrator.tenant_id, PrincipalKind.AGENT, public_id)
        line = line_of(session, agent, now, sampled)
        if any(line.counts.values()):
            lines.append(line)
    lines.sort(key=lambda line: -line.counts[Status.PENDING])
    standing = fresh_standing(session, administrator.tenant_id, now)
    told, _ = list_unread(session, administrator, limit=UNREAD)
    there = [one for one in lines if one.agent.status is not MachineStatus.REMOVED]
    waiting = [line for line in there if line.counts[Status.PENDING]]
    active = [one for one in waiting if one.agent.status is MachineStatus.ACTIVE]
    return Attention(
        causes=groups[:CAUSES],
        more_causes=max(0, len(groups) - CAUSES),
        inboxes=lines,
        all_seen=len(ids) <= INBOXES,
        away=[one for one in active if not one.agent.paused and _is_away(one, now)],
        filling=list_filling(session, administrator),
        untaken=list_untaken(session, administrator, there),
        paused=[one for one in active if one.agent.paused],
        unread=[one for one in told if one.status is Status.PENDING],
        disabled=[one for one in waiting if one.agent.status is not MachineStatus.ACTIVE],
        sampled=standing,
        oldest_sampled_at=now - standing.waits
        if standing is not None and standing.pending
        else None,
    )


def _deepest(session: Session, tenant_id: bytes, limit: int) -> list[bytes]:
    """By the last sample, then those in which something may lie: came since, or was never sampled."""
    asked = (
        select(inbox_standing.c.recipient_id)
        .where(inbox_standing.c.tenant_id == tenant_id)
        .order_by(inbox_standing.c.pending.desc(), inbox_standing.c.recipient_id.desc())
        .limit(limit)
    )
    ids = list(session.connection().execute(asked).scalars())
    if len(ids) < limit:
        bound = inbox.c.unsettled_bound
        others = (
            select(inbox.c.recipient_id)
            .where(inbox.c.tenant_id == tenant_id, bound > 0, inbox.c.recipient_id.not_in(ids))
            .order_by(bound.desc())
            .limit(limit - len(ids))
        )
        ids += session.connection().execute(others).scalars()
    return ids


def _is_away(line: InboxLine, now: datetime) -> bool:
    seen = line.agent.last_seen_at
    return not (line.streams or line.called) and (seen is None or now - seen >= POLLS)

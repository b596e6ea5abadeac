"""Which quarantined events something is to be done to: a filter or their ids, in sequence order.

What would run after later events of its key, or may be worked a second time because its agent has
forgotten it, is counted apart: that needs `force`. So is what nobody would claim, since its agent is removed:
that is left out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, false, select
from sqlalchemy.orm import Session

from restante.errors import ValidationFailed
from restante.inbox.lifecycle import Gate
from restante.inbox.quarantine import DEDUP_HORIZON
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.failures import event_failure
from restante.storage.tables.identity import principal
from restante.storage.tables.inboxes import inbox, ordering_key, ordering_waiting

MOST = 50_000
"""Events of one job; what is beyond is named `capped`, and for another job."""

AT_ONCE = 1_000
_ABSENT = "is not in quarantine (any more)"
_WENT_ON = "is not done again: its work went on in the event that `superseded_by` names; discard it"
_IS_REMOVED = "is of an agent that is removed, so nobody would claim it: discard it"
_IS_ASSIGNED = "belongs to an assignment: redrive it or reassign the assignment"
_KeyName = tuple[bytes, bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Quarantined events of which all that is given holds. `since` ≤ quarantined at < `until`, UTC."""

    failure_signature: str | None = None
    recipient_id: bytes | None = None
    project_id: bytes | None = None
    code: str | None = None
    quarantine_reason: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    @property
    def narrows(self) -> bool:
        """Whether it means some of the events of a kind of failure, but for when they came."""
        return any((self.recipient_id, self.project_id, self.code, self.quarantine_reason))

    def by_time(self) -> str:
        """The hint of the index that has what it means in the order in which it came."""
        index = (
            "quarantine_of_signature"
            if self.failure_signature
            else "quarantine_of_inbox"
            if self.recipient_id
            else "quarantine_of_project"
            if self.project_id
            else "quarantine_of_reason"
            if self.quarantine_reason
            else "quarantine"
        )
        return f"FORCE INDEX ({index})"

    def conditions(self) -> list[ColumnElement[bool]]:
        """On the rows of `event_failure`."""
        column = event_failure.c
        # their columns are ASCII, which a server does not compare with what is not
        if not f"{self.failure_signature}{self.quarantine_reason}".isascii():
            return [false()]
        equal = (
            (column.failure_signature, self.failure_signature),
            (column.recipient_id, self.recipient_id),
            (column.project_id, self.project_id),
            (column.code, self.code),
            (column.quarantine_reason, self.quarantine_reason),
        )
        found = [name == value for name, value in equal if value is not None]
        if self.since is not None:
            found.append(column.quarantined_at >= self.since)
        if self.until is not None:
            found.append(column.quarantined_at < self.until)
        return found


@dataclass(frozen=True, slots=True)
class Selection:
    """`events`: ids in the order in which they go. `late`, `forgotten`: those of them that need force.

    `removed`: those of them that are to run and whose agents are removed; `late`, `forgotten` and `assigned`,
    those that belong to assignments, are of the others. `recipients`: in whose inbox each is.
    """

    events: list[bytes]
    late: frozenset[bytes]
    forgotten: frozenset[bytes]
    capped: bool = False
    recipients: Mapping[bytes, bytes] = field(default_factory=dict)
    assigned: frozenset[bytes] = frozenset()
    removed: frozenset[bytes] = frozenset()

    def going(self, *, force: bool, amended: bool) -> list[bytes]:
        """What goes: none of a removed agent, and what belongs to an assignment is not amended."""
        stays = self.removed | (self.assigned if amended else frozenset())
        if not force:
            stays |= self.late | self.forgotten
        return [e for e in self.events if e not in stays]

    def check_amended(self) -> None:
        """ValidationFailed where the event that is named alone is not amended."""
        if self.removed or self.assigned:
            said = _IS_REMOVED if self.removed else _IS_ASSIGNED
            raise ValidationFailed.at("/event_ids/0", said)


def select_by_filter(
    session: Session, tenant_id: bytes, chosen: Filter, *, to_run: bool
) -> Selection:
    """The tenant's quarantined events that the filter means, at most MOST.

    `to_run`: again, so without those whose work went on in another event.
    """
    meant = _of(tenant_id).where(*chosen.conditions())
    if to_run:
        meant = meant.where(event_failure.c.superseded_by.is_(None))
    rows = session.connection().execute(meant.limit(MOST + 1)).all()
    return _assessed(session, rows[:MOST], to_run=to_run, capped=len(rows) > MOST)


def select_by_ids(
    session: Session, tenant_id: bytes, ids: Sequence[bytes | None], *, to_run: bool
) -> Selection:
    """Exactly these events; ValidationFailed names those that are not in the tenant's quarantine.

    And, where they are `to_run` again, those whose work went on in another event.
    """
    wanted = sorted({event_id for event_id in ids if event_id is not None})
    rows: list[Any] = []
    for start in range(0, len(wanted), AT_ONCE):
        some = event_failure.c.event_id.in_(wanted[start : start + AT_ONCE])
        rows += session.connection().execute(_of(tenant_id).where(some))
    faults: dict[bytes | None, str | None] = dict.fromkeys(ids, _ABSENT)
    for row in rows:
        faults[row.event_id] = _WENT_ON if to_run and row.superseded_by is not None else None
    told = [
        {"pointer": f"/event_ids/{place}", "detail": fault}
        for place, event_id in enumerate(ids)
        if (fault := faults[event_id]) is not None
    ]
    if told:
        raise ValidationFailed(errors=told[:100])
    rows.sort(key=lambda row: (row.recipient_id, row.sequence_number))
    return _assessed(session, rows, to_run=to_run)


def _of(tenant_id: bytes) -> Select[Any]:
    return (
        select(
            event_failure.c.event_id,
            event_failure.c.superseded_by,
            agent_inbox.c.recipient_id,
            agent_inbox.c.project_id,
            agent_inbox.c.sequence_number,
            agent_inbox.c.key_hash,
            agent_inbox.c.ordering_sequence,
            agent_inbox.c.claim_only,
            inbox.c.head,
            principal.c.status.label("agent_status"),
        )
        .join(agent_inbox, agent_inbox.c.event_id == event_failure.c.event_id)
        .join(inbox, inbox.c.recipient_id == agent_inbox.c.recipient_id)
        .join(principal, principal.c.principal_id == agent_inbox.c.recipient_id)
        .where(
            event_failure.c.tenant_id == tenant_id,
            event_failure.c.quarantined_at.is_not(None),
            agent_inbox.c.gate == Gate.QUARANTINED,
        )
        .order_by(agent_inbox.c.recipient_id, agent_inbox.c.sequence_number)
    )


def _assessed(
    session: Session, rows: Sequence[Any], *, to_run: bool, capped: bool = False
) -> Selection:
    removed = frozenset(r.event_id for r in rows if to_run and r.agent_status == "removed")
    forgotten = {r.event_id for r in rows if r.head - r.sequence_number > DEDUP_HORIZON}
    by_key: defaultdict[_KeyName, list[Any]] = defaultdict(list)
    for row in rows:
        if row.key_hash is not None:
            by_key[row.recipient_id, row.project_id, row.key_hash].append(row)
    late: set[bytes] = set()
    for recipient_id, project_id in sorted({name[:2] for name in by_key}):
        hashes = sorted(n[2] for n in by_key if n[:2] == (recipient_id, project_id))
        for start in range(0, len(hashes), AT_ONCE):
            some = hashes[start : start + AT_ONCE]
            late |= _late(session, recipient_id, project_id, some, by_key)
    return Selection(
        [r.event_id for r in rows],
        frozenset(late) - removed,
        frozenset(forgotten) - removed,
        capped,
        {r.event_id: r.recipient_id for r in rows},
        frozenset(r.event_id for r in rows if r.claim_only) - removed,
        removed,
    )


def _late(
    session: Session,
    recipient_id: bytes,
    project_id: bytes,
    hashes: Collection[bytes],
    by_key: dict[_KeyName, list[Any]],
) -> set[bytes]:
    """Events of these keys after which others of their key are settled (quarantine.later_settled)."""
    connection = session.connection()
    unsettled: defaultdict[bytes, list[int]] = defaultdict(list)
    for table, more in (
        (agent_inbox, agent_inbox.c.gate == Gate.QUARANTINED.value),
        (ordering_waiting, None),
    ):
        asked = select(table.c.key_hash, table.c.sequence_number).where(
            table.c.recipient_id == recipient_id,
            table.c.project_id == project_id,
            table.c.key_hash.in_(hashes),
        )
        for row in connection.execute(asked if more is None else asked.where(more)):
            unsettled[row.key_hash].append(row.sequence_number)
    keys = connection.execute(
        select(
            ordering_key.c.key_hash, ordering_key.c.head_sequence, ordering_key.c.ordering_sequence
        ).where(
            ordering_key.c.recipient_id == recipient_id,
            ordering_key.c.project_id == project_id,
            ordering_key.c.key_hash.in_(hashes),
        )
    )
    late: set[bytes] = set()
    for key in keys:
        places = sorted(
            {*unsettled[key.key_hash], *([key.head_sequence] if key.head_sequence else [])}
        )
        for row in by_key[recipient_id, project_id, key.key_hash]:
            after = len(places) - bisect_right(places, row.sequence_number)
            if key.ordering_sequence - row.ordering_sequence > after:
                late.add(row.event_id)
    return late

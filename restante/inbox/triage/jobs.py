"""Triage jobs: what is to be done to many quarantined events, who wants it and why.

A job is about the failures that lay there when it was made. `carrying_out` does the work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action as Audited
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import NotFound, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.triage.patching import CONTENT_DROPPED, Fit, check_may_write, fit_of
from restante.inbox.triage.selection import (
    AT_ONCE,
    Filter,
    Selection,
    select_by_filter,
    select_by_ids,
)
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.triage import triage_item, triage_job


class Action(StrEnum):
    """What is done to each event. A patch amends, each by what it says itself; jobs tell it as `amend`."""

    REDRIVE = "redrive"
    DISCARD = "discard"
    AMEND = "amend"
    PATCH = "patch"


class State(StrEnum):
    """Where a job is."""

    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


NEEDED = {
    Action.REDRIVE: Right.EVENTS_REDRIVE,
    Action.AMEND: Right.EVENTS_REDRIVE,
    Action.PATCH: Right.EVENTS_REDRIVE,
    Action.DISCARD: Right.EVENTS_DISCARD,
}
_AMENDS = frozenset({Action.AMEND, Action.PATCH})
_AUDITED = {
    Action.REDRIVE: Audited.EVENT_REDRIVE,
    Action.AMEND: Audited.EVENT_AMEND,
    Action.DISCARD: Audited.EVENT_DISCARD,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is wanted. `chosen`: a filter, or ids in the order given (None: one that is none).

    `stagger_seconds`: the pause between one event and the next. `expected`: how many events a dry
    run has counted; where it is another number now, nothing is done. `canary`: one event first, and
    the rest once that one is completed (canary.py). `amended_payload` is of an amendment, `merge_patch`,
    an object's text, of a patch (patching.py).
    """

    action: Action
    chosen: Filter | Sequence[bytes | None]
    reason: str
    force: bool = False
    stagger_seconds: float = 0
    amended_payload: bytes | None = None
    merge_patch: bytes | None = None
    expected: int | None = None
    canary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job, or with no id what one would do. Counts are of events; instants are UTC.

    `canary_id`: the event that went first, waited for until `canary_until`; None: not (any more). Of a dry
    run also how many would go of which inbox, the most first, which would go first, what a patch would make
    of the first, and how many are `assigned`, so not amended, or of a `removed` agent, so not run.
    `unpatched`: of `skipped`, those that it did not fit or change.
    """

    job_id: bytes | None
    action: Action
    state: State | None
    reason: str
    matched: int
    later_settled: int
    beyond_dedup_horizon: int
    capped: bool
    total: int
    done: int = 0
    skipped: int = 0
    unpatched: int = 0
    assigned: int | None = None
    removed: int | None = None
    actor_kind: str | None = None
    actor_id: str | None = None
    created_at: datetime | None = None
    finished_at: datetime | None = None
    stagger_ms: int = 0
    canary: bool = False
    canary_id: bytes | None = None
    canary_until: datetime | None = None
    stopped_because: str | None = None
    inboxes: tuple[tuple[str, int], ...] = ()
    first_event_id: str | None = None
    fit: Fit | None = None

    @property
    def public_id(self) -> str | None:
        """`job_…`; None: it was a dry run."""
        return None if self.job_id is None else encode_id(Prefix.JOB, self.job_id)

    @property
    def canary_event_id(self) -> str | None:
        """`evt_…` of the event that went first."""
        return None if self.canary_id is None else encode_id(Prefix.EVENT, self.canary_id)


class SelectionChanged(ValidationFailed):
    """The events are no longer those that were counted: nothing was done."""


def count(session: Session, administrator: Administrator, order: Order) -> Job:
    """A dry run: what the order would do now. Changes nothing."""
    selection = _select(session, administrator, order)
    going, fit = _going(order, selection), None
    if order.merge_patch is not None:
        fit = fit_of(session, going, order.merge_patch)
        going = [event_id for event_id in going if event_id not in fit.left_out]
    split = Counter(selection.recipients[event_id] for event_id in going)
    return replace(
        _counted(order, selection),
        inboxes=tuple((encode_id(Prefix.AGENT, id_), many) for id_, many in split.most_common()),
        first_event_id=encode_id(Prefix.EVENT, going[0]) if going else None,
        fit=fit,
    )


def start(session: Session, administrator: Administrator, order: Order) -> bytes:
    """Make the job → its id. Its first event goes as soon as a worker looks.

    Raises ValidationFailed for ids that are not in the tenant's quarantine, or not to be done again or
    amended, SelectionChanged, and RightMissing for what would write something redacted.
    """
    selection = _select(session, administrator, order)
    counted = _counted(order, selection)
    if order.expected is not None and order.expected != counted.total:
        raise SelectionChanged.at("/expected", f"it would be {counted.total} events now")
    job_id, now = new_id(), database_now(session)
    canary = order.canary and order.action is not Action.DISCARD
    actor = administrator.by.actor
    runs = counted.total > 0
    connection = session.connection()
    connection.execute(
        insert(triage_job),
        {
            "job_id": job_id,
            "tenant_id": administrator.tenant_id,
            "action": order.action,
            "state": State.RUNNING if runs else State.COMPLETED,
            "reason": order.reason,
            "actor_kind": actor.kind,
            "actor_id": actor.id,
            "forced": order.force,
            "stagger_ms": round(order.stagger_seconds * 1000),
            "amended_payload": order.amended_payload,
            "merge_patch": order.merge_patch,
            **{name: getattr(counted, name) for name in _COUNTED},
            "done": 0,
            "skipped": 0,
            "created_at": now,
            "finished_at": None if runs else now,
            "due_at": now if runs else None,
            "canary": canary,
        },
    )
    items = [
        {"job_id": job_id, "ordinal": n, "event_id": event_id}
        for n, event_id in enumerate(_going(order, selection))
    ]
    for start in range(0, len(items), AT_ONCE):
        connection.execute(insert(triage_item), items[start : start + AT_ONCE])
    record(
        session,
        Entry(
            administrator.tenant_id,
            administrator.by,
            _AUDITED[_told(order.action)],
            target=encode_id(Prefix.JOB, job_id),
            reason=f"{_many(counted.total, canary=canary)} events: {order.reason}",
        ),
    )
    return job_id


def read(session: Session, administrator: Administrator, job_id: bytes | None) -> Job:
    """One job of the tenant. Raises NotFound."""
    administrator.require(Right.QUARANTINE_READ, *NEEDED.values())
    return job_of(_find(session, administrator.tenant_id, job_id))


def cancel(session: Session, administrator: Administrator, job_id: bytes | None) -> Job:
    """No further event of a running job goes; of one that has ended nothing changes."""
    found = _find(session, administrator.tenant_id, job_id)
    administrator.require(NEEDED[Action(found.action)])
    # lock order: what is left to do, then the job, as who carries it out has it
    session.connection().execute(delete(triage_item).where(triage_item.c.job_id == found.job_id))
    ended = session.connection().execute(
        update(triage_job)
        .where(triage_job.c.job_id == found.job_id, triage_job.c.state == State.RUNNING)
        .values(
            state=State.CANCELLED,
            finished_at=database_now(session),
            due_at=None,
            canary_until=None,
            **CONTENT_DROPPED,
        )
    )
    if ended.rowcount:
        by, target = administrator.by, encode_id(Prefix.JOB, found.job_id)
        record(session, Entry(administrator.tenant_id, by, Audited.JOB_CANCEL, target=target))
    return job_of(_find(session, administrator.tenant_id, job_id))


def _many(total: int, *, canary: bool) -> str:
    return f"1, then {total - 1}" if canary and total > 1 else str(total)


def _select(session: Session, administrator: Administrator, order: Order) -> Selection:
    tenant_id, to_run = administrator.tenant_id, order.action is not Action.DISCARD
    administrator.require(NEEDED[order.action])
    if order.action is Action.AMEND or order.merge_patch is not None:
        check_may_write(session, administrator, order.merge_patch)
    if isinstance(order.chosen, Filter):
        return select_by_filter(session, tenant_id, order.chosen, to_run=to_run)
    found = select_by_ids(session, tenant_id, order.chosen, to_run=to_run)
    if order.action is Action.AMEND:
        found.check_amended()
    return found


def _going(order: Order, selection: Selection) -> list[bytes]:
    force = order.force or order.action is Action.DISCARD
    return selection.going(force=force, amended=order.action in _AMENDS)


def _counted(order: Order, selection: Selection) -> Job:
    return Job(
        job_id=None,
        action=_told(order.action),
        state=None,
        reason=order.reason,
        matched=len(selection.events),
        later_settled=len(selection.late),
        beyond_dedup_horizon=len(selection.forgotten),
        capped=selection.capped,
        total=len(_going(order, selection)),
        assigned=len(selection.assigned) if order.action in _AMENDS else None,
        removed=None if order.action is Action.DISCARD else len(selection.removed),
    )


def _find(session: Session, tenant_id: bytes, job_id: bytes | None) -> Any:
    asked = select(triage_job).filter_by(tenant_id=tenant_id, job_id=job_id)
    row = session.connection().execute(asked).first()
    if row is None:
        raise NotFound
    return row


def job_of(row: Any) -> Job:
    """A row of `triage_job` as a job."""
    told = {name: getattr(row, name) for name in Job.__dataclass_fields__ if name in _KEPT}
    return Job(**told | {"action": _told(Action(row.action)), "state": State(row.state)})


def _told(action: Action) -> Action:
    return Action.AMEND if action is Action.PATCH else action


_COUNTED = ("matched", "later_settled", "beyond_dedup_horizon", "capped", "total")
_KEPT = frozenset(triage_job.c.keys())

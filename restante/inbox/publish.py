"""Publish: events for one or many recipients, all rows or none.

`publish` checks and records; `write` gives the events their places, as the last thing of the
transaction, so that inbox rows are locked only for the length of the commit. Lock order: inbox
rows ascending over all recipients of the transaction, then what `place` locks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from sqlalchemy import Table, insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.identity.principal import Principal, Project
from restante.inbox import capacity, repeats, superseding
from restante.inbox.lifecycle import Gate
from restante.inbox.place import advance_one, lock_inboxes, place
from restante.inbox.publication import Arrival, Publication, Published, hash_key, numbered
from restante.inbox.recipients import Recipients, check_recipients, project_of
from restante.inbox.rules import rules
from restante.storage.ids import new_ids
from restante.storage.statement import Insert
from restante.storage.tables.events import event_correlation, scheduled_event
from restante.storage.tables.keys import publication_key
from restante.storage.transaction import Repeat, adopt, before_commit

_RECORDED = "restante.tx.recorded"


@dataclass(slots=True)
class _Recorded:
    """What a transaction has published so far."""

    tenant_id: bytes
    first: Recipients
    limits: dict[bytes, int] = field(default_factory=dict)
    arrivals: list[Arrival] = field(default_factory=list)
    keys: list[dict[str, object]] = field(default_factory=list)
    correlations: list[tuple[bytes, bytes, bytes]] = field(default_factory=list)

    def __copy__(self) -> _Recorded:
        """As it is now, whatever is recorded later (a savepoint may be rolled back)."""
        return replace(
            self,
            limits=dict(self.limits),
            arrivals=list(self.arrivals),
            keys=list(self.keys),
            correlations=list(self.correlations),
        )


def publish(
    session: Session, producer: Principal, publications: Sequence[Publication]
) -> list[Published]:
    """Record publications → one Published per publication and recipient, in the order listed.

    Raises InsufficientScope or ValidationFailed for a project, RecipientRefused (unknown, foreign,
    removed or without the project: alike), IdempotencyKeyReused; when written, InboxFull, and Repeat
    where another transaction used an idempotency_key meanwhile: run this one again.
    """
    adopt(session)
    projects = _projects(producer, publications)
    recipients = check_recipients(session, producer, publications)
    twins = repeats.find_twins(session, producer, publications)
    recorded = _recorded(session, producer, recipients)
    ids = iter(new_ids(sum(len(p.recipients) * (1 + len(p.more)) for p in publications)))
    now, most = recorded.first.now, rules(session).max_attempts
    published: list[Published] = []
    told_before: tuple[object, ...] = ()
    envelope = b""
    # recorded together at the end: one that is refused leaves nothing of its call
    arrivals: list[Arrival] = []
    keys: list[dict[str, object]] = []
    correlations: list[tuple[bytes, bytes, bytes]] = []
    for index, publication in numbered(publications):
        available_at, expires_at = publication.times(now, f"/events/{index}")
        gate = Gate.SCHEDULED if available_at > now else Gate.CLAIMABLE
        told = publication.told()
        if told != told_before:  # most calls say the same of many payloads
            told_before, envelope = told, publication.envelope(producer, now)
        options = publication.options()
        key_hash, own_key = publication.key_hash(), publication.idempotency_key
        correlation = publication.correlation_id
        correlated = hash_key(correlation) if correlation else None
        supersedes = publication.supersedes_hash(producer)
        project_id = projects[publication.project].id
        attempts = publication.max_attempts or most
        for payload, recipient_id in product(
            (publication.payload, *publication.more), publication.recipients
        ):
            twin = twins.get((recipient_id, hash_key(own_key))) if own_key else None
            if twin is not None:
                published.append(repeats.existing(session, twin, publication, recipient_id))
                continue
            event = Published(event_id=next(ids), recipient_id=recipient_id, gate=gate)
            published.append(event)
            arrivals.append(
                Arrival(
                    event_id=event.event_id,
                    recipient_id=recipient_id,
                    project_id=project_id,
                    rank=-publication.priority,
                    max_attempts=attempts,
                    key_hash=key_hash,
                    available_at=available_at,
                    expires_at=expires_at,
                    envelope=envelope,
                    options=options,
                    payload=payload,
                    published=event,
                    supersedes=supersedes,
                )
            )
            if own_key:
                keys.append(repeats.key_row(session, producer, publication, event, available_at))
            if correlated is not None:
                correlations.append((producer.tenant_id, correlated, event.event_id))
    recorded.arrivals += arrivals
    recorded.keys += keys
    recorded.correlations += correlations
    return published


def write(session: Session) -> None:
    """Write what was recorded: rows, sequences, rings. Runs by itself before the commit.

    Raises InboxFull, naming the recipients; nothing of the transaction is written then.
    """
    recorded: _Recorded | None = session.info.pop(_RECORDED, None)
    if recorded is None or not recorded.arrivals:
        return
    now = recorded.first.now
    placed = [a for a in recorded.arrivals if a.available_at <= now]
    counts = Counter(a.recipient_id for a in recorded.arrivals)
    newer = [a for a in recorded.arrivals if a.supersedes is not None]
    heads = None if newer else _advance_one(session, recorded, placed, counts)
    advanced = heads is not None
    if heads is None:
        rows = lock_inboxes(session, counts)
        if newer:  # what goes makes room
            superseding.cancel_older(session, newer, now)
        bounds = {r: row.unsettled_bound for r, row in rows.items()}
        capacity.check(session, counts, bounds, recorded.limits)
        heads = {a.recipient_id: rows[a.recipient_id].head for a in placed}
    capacity.check_tenant(session, recorded.tenant_id, recorded.first.tenant_limit, counts.total())
    try:
        _insert(session, publication_key, recorded.keys)
    except IntegrityError as error:
        raise Repeat from error  # another call with this key has committed: look again
    _CORRELATIONS.later(session, recorded.correlations)
    if placed:
        place(session, placed, heads, now, advanced=advanced)
    _schedule(session, [a for a in recorded.arrivals if a.available_at > now])
    superseding.cancel_own(session, newer)


def _advance_one(
    session: Session, recorded: _Recorded, placed: Sequence[Arrival], counts: Mapping[bytes, int]
) -> dict[bytes, int] | None:
    """Where there is one recipient and nothing is scheduled: his head before, already moved on."""
    if len(counts) != 1 or len(placed) != len(recorded.arrivals):
        return None
    (recipient_id,) = counts
    more = len(placed)
    head = advance_one(
        session,
        recipient_id,
        placed=more,
        limit=recorded.limits[recipient_id],
        now=recorded.first.now,
    )
    return None if head is None else {recipient_id: head}


def _projects(producer: Principal, publications: Sequence[Publication]) -> dict[str, Project]:
    """The projects of the publications, by slug, each checked once."""
    projects: dict[str, Project] = {}
    for index, publication in numbered(publications):
        if publication.project not in projects:
            found = project_of(producer, publication, f"/events/{index}")
            projects[publication.project] = found
    return projects


def _recorded(session: Session, producer: Principal, recipients: Recipients) -> _Recorded:
    recorded: _Recorded | None = session.info.get(_RECORDED)
    if recorded is None:
        recorded = session.info[_RECORDED] = _Recorded(producer.tenant_id, recipients)
        before_commit(session, write)
    recorded.limits.update(recipients.limits)
    return recorded


def _schedule(session: Session, arrivals: Sequence[Arrival]) -> None:
    """Those not due yet wait in a table of their own; `timers` gives them their numbers."""
    if not arrivals:
        return
    _insert(
        session,
        scheduled_event,
        [
            {
                "event_id": a.event_id,
                "recipient_id": a.recipient_id,
                "project_id": a.project_id,
                "gate": Gate.SCHEDULED,
                "rank": a.rank,
                "payload_bytes": len(a.payload),
                "max_attempts": a.max_attempts,
                "key_hash": a.key_hash,
                "available_at": a.available_at,
                "expires_at": a.expires_at,
                "due_at": a.available_at,
                "envelope": a.envelope,
                "options": a.options,
                "payload": a.payload,
            }
            for a in arrivals
        ],
    )
    capacity.add(session, Counter(a.recipient_id for a in arrivals))


def _insert(session: Session, table: Table, rows: Sequence[dict[str, Any]]) -> None:
    if rows:
        session.connection().execute(insert(table), rows)


_CORRELATIONS = Insert(event_correlation, "tenant_id", "correlation_hash", "event_id")

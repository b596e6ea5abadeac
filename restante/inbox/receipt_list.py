"""Which events a list of receipts names: by correlation or recipient, past those of others."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from restante.identity.principal import Principal
from restante.identity.scopes import TenantScope, Verb
from restante.inbox.publication import hash_key
from restante.inbox.rules import PAGE_EXAMINED
from restante.storage.tables.events import (
    agent_inbox,
    archived_event,
    event_content,
    event_correlation,
    scheduled_event,
)
from restante.storage.tables.inboxes import inbox

EXAMINED_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """An event of a list, and its place: a sequence number, or an event id as hex without one."""

    place: int | str
    event_id: bytes


Entries = Callable[[Any, int], list[Entry]]
"""(after this place, how many at most) → the next ones."""


def page_of(
    session: Session,
    producer: Principal,
    entries: Entries,
    *,
    verbs: tuple[Verb, ...],
    after: int | str | None,
    limit: int,
) -> tuple[list[bytes], int | str | None]:
    """→ (ids of the next `limit` events the producer may see, place to go on after; None: no more).

    It looks past those of others, PAGE_EXAMINED at most.
    """
    found: list[Entry] = []
    examined, asked = 0, limit + 1
    while True:
        asked = min(asked, PAGE_EXAMINED - examined)
        looked_at = entries(after, asked)
        visible = _visible(session, producer, [entry.event_id for entry in looked_at], verbs)
        found += [entry for entry in looked_at if entry.event_id in visible]
        ids = [entry.event_id for entry in found[:limit]]
        if len(found) > limit:
            return ids, found[limit - 1].place
        if len(looked_at) < asked:
            return ids, None
        examined, after, asked = examined + asked, looked_at[-1].place, EXAMINED_AT_ONCE
        if examined >= PAGE_EXAMINED:
            return ids, after


def of_correlation(session: Session, tenant_id: bytes, correlation_id: str) -> Entries:
    """Of one correlation, by event id: in the order of their making."""

    def entries(after: Any, limit: int) -> list[Entry]:
        asked = (
            select(event_correlation.c.event_id)
            .where(
                event_correlation.c.tenant_id == tenant_id,
                event_correlation.c.correlation_hash == hash_key(correlation_id),
                event_correlation.c.event_id > bytes.fromhex(after or "00"),
            )
            .order_by(event_correlation.c.event_id)
            .limit(limit)
        )
        ids = session.connection().execute(asked).scalars()
        return [Entry(event_id.hex(), event_id) for event_id in ids]

    return entries


def of_recipient(session: Session, tenant_id: bytes, recipient_id: bytes | None) -> Entries:
    """Of one recipient: by sequence what has one, archived or not; then the rest by event id."""
    connection = session.connection()
    owner = connection.execute(
        select(inbox.c.tenant_id).where(inbox.c.recipient_id == recipient_id)
    ).scalar()

    def numbered(table: Any, after: int, limit: int) -> list[Entry]:
        asked = (
            select(table.c.sequence_number, table.c.event_id)
            .where(table.c.recipient_id == recipient_id, table.c.sequence_number > after)
            .order_by(table.c.sequence_number)
            .limit(limit)
        )
        return [Entry(row.sequence_number, row.event_id) for row in connection.execute(asked)]

    def unnumbered(table: Any, after: str, limit: int, *more: Any) -> list[Entry]:
        asked = (
            select(table.c.event_id)
            .where(
                table.c.recipient_id == recipient_id,
                table.c.event_id > bytes.fromhex(after),
                *more,
            )
            .order_by(table.c.event_id)
            .limit(limit)
        )
        return [Entry(id_.hex(), id_) for id_ in connection.execute(asked).scalars()]

    def entries(after: Any, limit: int) -> list[Entry]:
        if owner != tenant_id:
            return []
        told: list[Entry] = []
        if not isinstance(after, str):
            # what is archived between the two looks is found twice, never not at all
            parts = [numbered(table, after or 0, limit) for table in (agent_inbox, archived_event)]
            told = _merged(parts)[:limit]
            after = "00"
        if len(told) < limit:
            none = archived_event.c.sequence_number.is_(None)
            rest = [
                unnumbered(scheduled_event, after, limit),
                unnumbered(archived_event, after, limit, none),
            ]
            told += _merged(rest)[: limit - len(told)]
        return told

    return entries


def _merged(parts: list[list[Entry]]) -> list[Entry]:
    return list({e.event_id: e for e in heapq.merge(*parts, key=lambda e: e.place)}.values())


def _visible(
    session: Session, producer: Principal, ids: Sequence[bytes], verbs: tuple[Verb, ...]
) -> frozenset[bytes]:
    """Those of these events of its tenant that a principal may see receipts of."""
    if producer.has(TenantScope.EVENTS_READ):
        return frozenset(ids)
    covered = {project.id for verb in verbs for project in producer.covered(verb)}
    own = set()
    for asked in _ENVELOPES:
        id_ = asked.selected_columns.event_id
        for row in session.connection().execute(asked.where(id_.in_(ids))):
            is_own = orjson.loads(row.envelope)["producer"]["id"] == producer.public_id
            if is_own and row.project_id in covered:
                own.add(row.event_id)
    return frozenset(own)


_ENVELOPES: tuple[Select[Any], ...] = (
    select(agent_inbox.c.event_id, agent_inbox.c.project_id, event_content.c.envelope).join(
        event_content,
        (event_content.c.recipient_id == agent_inbox.c.recipient_id)
        & (event_content.c.sequence_number == agent_inbox.c.sequence_number),
    ),
    select(scheduled_event.c.event_id, scheduled_event.c.project_id, scheduled_event.c.envelope),
    select(archived_event.c.event_id, archived_event.c.project_id, archived_event.c.envelope),
)

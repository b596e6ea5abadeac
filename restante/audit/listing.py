"""The audit as it is read: newest first, a page at a time; and one entry with its place in the chain.

Instants ascend with the numbers of a chain, so a time is looked up once and then is a number: every
filter goes along an index that ends in the number, and a page of it costs the same wherever it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import PLATFORM, entry_hash
from restante.errors import NotFound
from restante.storage import page_token
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.tables.audit import audit_entry


@dataclass(frozen=True, slots=True)
class Recorded:
    """An entry as it is kept. `at`: UTC."""

    entry_id: str
    at: datetime
    actor_kind: str
    actor_id: str | None
    action: str
    target: str | None
    outcome: str
    reason: str | None
    address: str | None
    request_id: str | None


@dataclass(frozen=True, slots=True)
class Chained:
    """An entry in its chain, between two others. `intact`: its hash is that of what it says."""

    entry: Recorded
    number: int
    previous_hash: bytes
    entry_hash: bytes
    intact: bool
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Entries, and the token of those before them; None: these are the oldest."""

    entries: Sequence[Recorded]
    next_page_token: str | None


def list_entries(
    session: Session,
    tenant_id: bytes | None,
    *,
    limit: int,
    token: str | None = None,
    action: Action | None = None,
    actor: str | None = None,
    target: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> EntryPage:
    """Entries of the tenant (None: the platform's own), of that action, actor and target where named.

    From `since` on, and before `until` (UTC). The caller has checked who may read them. Raises
    PageTokenInvalid.
    """
    chain_id = tenant_id or PLATFORM
    times = tuple("" if at is None else at.isoformat() for at in (since, until))
    of = ("audit", chain_id.hex(), action or "", actor or "", target or "", *times)
    before = page_token.take(session, of, token)
    query = select(audit_entry).where(audit_entry.c.chain_id == chain_id)
    for column, wanted in (
        (audit_entry.c.action, action and action.value),
        (audit_entry.c.actor_id, actor),
        (audit_entry.c.target, target),
    ):
        if wanted is not None:
            query = query.where(column == wanted)
    if since is not None:
        first = _first_at(session, chain_id, since)
        if first is None:
            return EntryPage([], None)
        query = query.where(audit_entry.c.number >= first)
    if until is not None:
        end = _first_at(session, chain_id, until)
        query = query if end is None else query.where(audit_entry.c.number < end)
    if before is not None:
        query = query.where(audit_entry.c.number < before)
    rows = (
        session.connection()
        .execute(query.order_by(audit_entry.c.number.desc()).limit(limit + 1))
        .all()
    )
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.number)
    return EntryPage(list(map(_recorded, shown)), more)


def read_entry(session: Session, tenant_id: bytes | None, public_id: str) -> Chained:
    """One of the tenant's; NotFound where it has none of that id. The caller has checked who may read it."""
    raw = decode_id(Prefix.AUDIT, public_id)
    row: Any = (
        session.connection()
        .execute(
            select(audit_entry).where(
                audit_entry.c.entry_id == raw, audit_entry.c.chain_id == (tenant_id or PLATFORM)
            )
        )
        .one_or_none()
    )
    if raw is None or row is None:
        raise NotFound
    intact = entry_hash(row._mapping) == row.entry_hash  # noqa: SLF001 - SQLAlchemy's own way
    beside = (
        session.connection()
        .execute(
            select(audit_entry.c.number, audit_entry.c.entry_id).where(
                audit_entry.c.chain_id == row.chain_id,
                audit_entry.c.number.in_((row.number - 1, row.number + 1)),
            )
        )
        .all()
    )
    ids = {one.number - row.number: encode_id(Prefix.AUDIT, one.entry_id) for one in beside}
    return Chained(
        _recorded(row),
        row.number,
        row.previous_hash,
        row.entry_hash,
        intact,
        before=ids.get(-1),
        after=ids.get(1),
    )


def _first_at(session: Session, chain_id: bytes, at: datetime) -> int | None:
    """The number of the first entry at that instant or after it; None: there is none."""
    query = (
        select(audit_entry.c.number)
        .where(audit_entry.c.chain_id == chain_id, audit_entry.c.at >= at)
        .order_by(audit_entry.c.at, audit_entry.c.number)
        .limit(1)
    )
    number: int | None = session.connection().execute(query).scalar_one_or_none()
    return number


def _recorded(row: Any) -> Recorded:
    return Recorded(
        entry_id=encode_id(Prefix.AUDIT, row.entry_id),
        at=row.at,
        actor_kind=row.actor_kind,
        actor_id=row.actor_id,
        action=row.action,
        target=row.target,
        outcome=row.outcome,
        reason=row.reason,
        address=row.address,
        request_id=row.request_id,
    )

"""The audit as it is read: newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import PLATFORM
from restante.storage import page_token
from restante.storage.ids import Prefix, encode_id
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
    target: str | None = None,
) -> EntryPage:
    """Entries of the tenant (None: the platform's own), of that action and target alone where named.

    The caller has checked who may read them. Raises PageTokenInvalid.
    """
    chain_id = tenant_id or PLATFORM
    of = ("audit", chain_id.hex(), action or "", target or "")
    before = page_token.take(session, of, token)
    query = select(audit_entry).where(audit_entry.c.chain_id == chain_id)
    if action is not None:
        query = query.where(audit_entry.c.action == action.value)
    if target is not None:
        query = query.where(audit_entry.c.target == target)
    if before is not None:
        query = query.where(audit_entry.c.number < before)
    rows = (
        session.connection()
        .execute(query.order_by(audit_entry.c.number.desc()).limit(limit + 1))
        .all()
    )
    shown = rows[:limit]
    more = page_token.give(session, of, shown[-1].number) if len(rows) > limit else None
    return EntryPage([_recorded(row) for row in shown], more)


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

"""The chain: each entry holds the hash of the one before it, so that none can be changed or taken out.

Who may write to the database could write a whole new chain; `audit verify` tells the end of each
chain, and one that was noted elsewhere tells that too.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.audit.entries import Entry
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.audit import audit_chain, audit_entry
from restante.storage.transaction import Repeat, as_the_last

PLATFORM = bytes(16)
"""The chain of what concerns no tenant."""

BEGINNING = bytes(32)
"""What the first entry of a chain holds as the hash of the one before it."""

_WAITING = "restante.tx.audit"


def record(session: Session, *entries: Entry) -> None:
    """Add entries in this transaction: they are there with what it changed, or not at all.

    They are written as its very last statements, so that the chain's row, which every audited
    change of the tenant wants, is locked for no longer than the commit takes.
    """
    session.info.setdefault(_WAITING, []).extend(entries)
    as_the_last(session, _write)


def entry_hash(row: Mapping[str, Any]) -> bytes:
    """SHA-256 over the canonical JSON of an entry's columns, the previous hash among them."""
    told = {name: _text(row[name]) for name in _HASHED}
    canonical = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(canonical.encode()).digest()


def _write(session: Session) -> None:
    chains: defaultdict[bytes, list[Entry]] = defaultdict(list)
    for entry in session.info.pop(_WAITING, []):
        chains[entry.tenant_id or PLATFORM].append(entry)
    for chain_id in sorted(chains):
        _append(session, chain_id, chains[chain_id])


def _append(session: Session, chain_id: bytes, entries: Sequence[Entry]) -> None:
    connection = session.connection()
    number, previous = _end(session, chain_id)
    now = database_now(session)  # after the lock: a chain's instants ascend with its numbers
    rows = []
    for entry in entries:
        number += 1
        row = _row(chain_id, number, previous, now, entry)
        previous = row["entry_hash"]
        rows.append(row)
    connection.execute(insert(audit_entry), rows)
    connection.execute(
        update(audit_chain)
        .where(audit_chain.c.chain_id == chain_id)
        .values(last_number=number, last_hash=previous)
    )


def _end(session: Session, chain_id: bytes) -> tuple[int, bytes]:
    """The last number and hash of the chain, its row locked; begun where there is none."""
    connection = session.connection()
    row = connection.execute(
        select(audit_chain.c.last_number, audit_chain.c.last_hash)
        .where(audit_chain.c.chain_id == chain_id)
        .with_for_update()
    ).one_or_none()
    if row is not None:
        return row.last_number, row.last_hash
    try:
        connection.execute(
            insert(audit_chain).values(chain_id=chain_id, last_number=0, last_hash=BEGINNING)
        )
    except IntegrityError:
        raise Repeat from None
    return 0, BEGINNING


def _row(
    chain_id: bytes, number: int, previous: bytes, now: datetime, entry: Entry
) -> dict[str, Any]:
    row = {
        "chain_id": chain_id,
        "number": number,
        "entry_id": new_id(),
        "at": now,
        "actor_kind": entry.by.actor.kind.value,
        "actor_id": entry.by.actor.id,
        "action": entry.action.value,
        "target": entry.target,
        "outcome": entry.outcome.value,
        "reason": entry.reason,
        "address": entry.by.address,
        "request_id": entry.by.request_id,
        "previous_hash": previous,
    }
    return row | {"entry_hash": entry_hash(row)}


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return value


_HASHED = tuple(column.name for column in audit_entry.columns if column.name != "entry_hash")

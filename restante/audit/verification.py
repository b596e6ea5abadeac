"""Whether the audit is what was written: every entry there, unchanged, in its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Column, ColumnElement, Exists, func, literal, or_, select
from sqlalchemy.orm import Session

from restante.audit.chain import BEGINNING, PLATFORM, entry_hash
from restante.storage.base import Id
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.audit import audit_chain, audit_entry
from restante.storage.tables.identity import principal, project, tenant

BATCH = 500


@dataclass(frozen=True, slots=True)
class Broken:
    """The first entry of a chain that is not what was written; `entry_id` None: it is not there."""

    chain_id: bytes
    number: int
    fault: str
    entry_id: str | None = None

    @property
    def tenant_id(self) -> str | None:
        """`ten_…`; None: the platform's chain."""
        return None if self.chain_id == PLATFORM else encode_id(Prefix.TENANT, self.chain_id)

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "tenant_id": self.tenant_id,
            "number": self.number,
            "entry_id": self.entry_id,
            "fault": self.fault,
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a verification has come. `chain_id` is the chain it is in, up to `number`, or has done."""

    chain_id: bytes = b""
    in_chain: bool = False
    number: int = 0
    last_hash: bytes = BEGINNING
    chains: int = 0
    entries: int = 0
    broken: Broken | None = None
    finished: bool = False


def verify(session: Session) -> Broken | None:
    """The first broken entry of all chains, or None. Memory is bounded, time is not."""
    progress = Progress()
    while not progress.finished:
        progress = verify_on(session, progress)
    return progress.broken


def begin_chain(tenant_id: bytes | None) -> Progress:
    """For `verify_on`: the chain of that tenant (None: the platform's), which is done when it leaves it."""
    return Progress(tenant_id or PLATFORM, in_chain=True, chains=1)


def verify_on(session: Session, progress: Progress, *, batch: int = BATCH) -> Progress:
    """Verify the next so many entries: a unit of work each, so that nobody waits for all of it."""
    if not progress.in_chain:
        chain_id = _next_chain(session, progress.chain_id)
        if chain_id is None:
            lost = _lost_chain(session)
            return replace(progress, finished=True, broken=lost)
        progress = Progress(
            chain_id, in_chain=True, chains=progress.chains + 1, entries=progress.entries
        )
    query = (
        select(audit_entry)
        .where(audit_entry.c.chain_id == progress.chain_id, audit_entry.c.number > progress.number)
        .order_by(audit_entry.c.number)
        .limit(batch)
    )
    rows = session.connection().execute(query).mappings().all()
    for row in rows:
        fault = _fault(row, progress)
        if fault is not None:
            return _ended(progress, fault)
        progress = replace(
            progress,
            number=row["number"],
            last_hash=row["entry_hash"],
            entries=progress.entries + 1,
        )
    return progress if len(rows) == batch else _at_the_end(session, progress)


def _fault(row: Any, progress: Progress) -> Broken | None:
    expected = progress.number + 1
    if row["number"] != expected:
        return Broken(progress.chain_id, expected, "it is missing")
    entry_id = encode_id(Prefix.AUDIT, row["entry_id"])
    if entry_hash(row) != row["entry_hash"]:
        return Broken(progress.chain_id, expected, "it was changed", entry_id)
    if row["previous_hash"] != progress.last_hash:
        return Broken(progress.chain_id, expected, "it does not follow the one before it", entry_id)
    return None


def _at_the_end(session: Session, progress: Progress) -> Progress:
    """Compare with what the chain's row says its end is, which nobody moves meanwhile."""
    connection = session.connection()
    end = connection.execute(
        select(audit_chain.c.last_number, audit_chain.c.last_hash)
        .where(audit_chain.c.chain_id == progress.chain_id)
        .with_for_update()
    ).one_or_none()
    newest = connection.execute(
        select(func.max(audit_entry.c.number)).where(audit_entry.c.chain_id == progress.chain_id)
    ).scalar_one()
    last = 0 if end is None else end.last_number
    if progress.number < (newest or 0) <= last:
        return progress  # added since
    if (newest or 0) > last:
        return _ended(progress, Broken(progress.chain_id, last + 1, "it is beyond the chain's end"))
    if progress.number < last:
        return _ended(progress, Broken(progress.chain_id, progress.number + 1, "it is missing"))
    if end is not None and end.last_hash != progress.last_hash:
        return _ended(progress, Broken(progress.chain_id, last, "it is not the chain's end"))
    return replace(progress, in_chain=False)


def _lost_chain(session: Session) -> Broken | None:
    """A chain that is gone whole: a tenant is made in the platform's, and peopled in its own."""
    peopled = (
        select(literal(1))
        .select_from(one)
        .where(one.c.tenant_id == tenant.c.tenant_id)
        .correlate(tenant)
        .exists()
        for one in (project, principal)
    )
    own = select(tenant.c.tenant_id).where(
        or_(*peopled), ~_has_chain(tenant.c.tenant_id).correlate(tenant)
    )
    platforms = select(tenant.c.tenant_id).where(~_has_chain(literal(PLATFORM, Id)))
    connection = session.connection()
    if connection.execute(platforms.limit(1)).scalar() is not None:
        return Broken(PLATFORM, 1, "its chain is missing")
    lost = connection.execute(own.order_by(tenant.c.tenant_id).limit(1)).scalar()
    return None if lost is None else Broken(lost, 1, "its chain is missing")


def _has_chain(chain_id: ColumnElement[bytes]) -> Exists:
    return select(literal(1)).where(audit_chain.c.chain_id == chain_id).exists()


def _ended(progress: Progress, broken: Broken) -> Progress:
    return replace(progress, broken=broken, finished=True)


def _next_chain(session: Session, after: bytes) -> bytes | None:
    """The next chain that there is an end of, or an entry."""
    ids: tuple[Column[Any], ...] = (audit_chain.c.chain_id, audit_entry.c.chain_id)
    found = [
        session.connection()
        .execute(select(column).where(column > after).order_by(column).limit(1))
        .scalar()
        for column in ids
    ]
    return min((chain_id for chain_id in found if chain_id is not None), default=None)

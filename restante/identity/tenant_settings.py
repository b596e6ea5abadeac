"""What a tenant has set for itself: signatures, origins of browsers, how much may wait, what is redacted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import Select, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.browser_origins import check_origins
from restante.identity.roles import Right, may
from restante.inbox.redaction import check_rules
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import tenant

MOST_PENDING = 2**31 - 1
_LISTS = frozenset({"allowed_origins", "redacted_paths"})


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """`allowed_origins`: sorted. `max_pending`: unsettled events of all inboxes; None: no limit.

    `redacted_paths`: sorted; what operators are not shown of payloads (inbox/redaction.py).
    """

    tenant_id: bytes
    name: str
    require_signatures: bool
    allowed_origins: tuple[str, ...]
    max_pending: int | None
    redacted_paths: tuple[str, ...]

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "tenant_id": encode_id(Prefix.TENANT, self.tenant_id),
            "name": self.name,
            "require_signatures": self.require_signatures,
            "allowed_origins": list(self.allowed_origins),
            "max_pending": self.max_pending,
            "redacted_paths": list(self.redacted_paths),
        }


def redacted_for(session: Session, who: Administrator) -> tuple[str, ...]:
    """What he is not shown of his tenant's payloads: nothing is kept from services and administrators."""
    if who.role is None or may(who.role, Right.PAYLOADS_WHOLE):
        return ()
    asked = select(tenant.c.redacted_paths).where(tenant.c.tenant_id == who.tenant_id)
    return tuple(orjson.loads(session.connection().execute(asked).scalar() or "[]"))


def read_settings(session: Session, who: Administrator, *, locked: bool = False) -> TenantSettings:
    """Those of his tenant; `locked`: nobody else changes them now.

    Raises what `Administrator.require` does.
    """
    who.require(Right.SETTINGS_WRITE)
    return _read(session, who, _SETTINGS.with_for_update() if locked else _SETTINGS)


def change_settings(
    session: Session, who: Administrator, changes: Mapping[str, Any]
) -> TenantSettings:
    """Set those named, and leave the others; every process goes by them within a second.

    Raises ValidationFailed and what `Administrator.require` does. What is as it was is no change, and
    no entry of the audit.
    """
    who.require(Right.SETTINGS_WRITE)
    changes = _checked(changes)
    before = _read(session, who, _SETTINGS.with_for_update())
    after = replace(before, **changes)
    changed = [name for name in changes if getattr(after, name) != getattr(before, name)]
    if not changed:
        return before
    row = {name: getattr(after, name) for name in changed}
    for name in _LISTS & row.keys():
        listed = list(getattr(after, name))
        row[name] = orjson.dumps(listed).decode() if listed else None
    session.connection().execute(
        update(tenant).where(tenant.c.tenant_id == who.tenant_id).values(row)
    )
    told = after.told()
    reason = ", ".join(f"{name} {orjson.dumps(told[name]).decode()}" for name in changed)
    entry = Entry(who.tenant_id, who.by, Action.TENANT_UPDATE, told["tenant_id"], reason=reason)
    record(session, entry)
    return after


def _checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    if not changes:
        raise ValidationFailed.at(
            "",
            "names nothing to change; give require_signatures, allowed_origins, max_pending or "
            "redacted_paths",
        )
    checked = dict(changes)
    if "allowed_origins" in checked:
        origins = check_origins(checked["allowed_origins"], pointer="/allowed_origins")
        checked["allowed_origins"] = tuple(sorted(origins))
    if "redacted_paths" in checked:
        checked["redacted_paths"] = check_rules(
            checked["redacted_paths"], pointer="/redacted_paths"
        )
    most = checked.get("max_pending")
    if most is not None and not 1 <= most <= MOST_PENDING:
        raise ValidationFailed.at(
            "/max_pending", f"must be 1 to {MOST_PENDING}, or null for no limit of the tenant's own"
        )
    return checked


def _read(session: Session, who: Administrator, asked: Select[Any]) -> TenantSettings:
    row = session.connection().execute(asked.where(tenant.c.tenant_id == who.tenant_id)).one()
    return TenantSettings(
        tenant_id=row.tenant_id,
        name=row.name,
        require_signatures=bool(row.require_signatures),
        allowed_origins=tuple(orjson.loads(row.allowed_origins or "[]")),
        max_pending=row.max_pending,
        redacted_paths=tuple(orjson.loads(row.redacted_paths or "[]")),
    )


_SETTINGS = select(
    tenant.c.tenant_id,
    tenant.c.name,
    tenant.c.require_signatures,
    tenant.c.allowed_origins,
    tenant.c.max_pending,
    tenant.c.redacted_paths,
)

"""Tenants: the boundary that nothing crosses."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import IN_PROCESS, Entry, Origin
from restante.errors import NotFound, ValidationFailed
from restante.identity.names import check_name
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id, new_id
from restante.storage.tables.identity import tenant


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant; `require_signatures`: its agents must sign what changes something."""

    id: bytes
    name: str
    require_signatures: bool


def create_tenant(
    session: Session, name: str, *, require_signatures: bool, by: Origin = IN_PROCESS
) -> Tenant:
    """A new tenant; ValidationFailed where the name is taken."""
    check_name(name)
    if _find(session, name) is not None:
        raise ValidationFailed.at("/name", f"a tenant named {name!r} exists already")
    made = Tenant(new_id(), name, require_signatures)
    session.connection().execute(
        insert(tenant).values(
            tenant_id=made.id,
            name=name,
            require_signatures=require_signatures,
            created_at=database_now(session),
        )
    )
    target, signed = (
        encode_id(Prefix.TENANT, made.id),
        "" if require_signatures else ", unsigned ok",
    )
    record(session, Entry(None, by, Action.TENANT_CREATE, target, reason=f"{name}{signed}"))
    return made


def find_tenant(session: Session, text: str) -> Tenant:
    """The tenant of that id or name; NotFound where there is none."""
    found = _find(session, text)
    if found is None:
        raise NotFound(f"There is no tenant with the id or name {text!r}.")
    return found


def _find(session: Session, text: str) -> Tenant | None:
    raw = decode_id(Prefix.TENANT, text)
    named = tenant.c.tenant_id == raw if raw else tenant.c.name == text
    row = (
        session.connection()
        .execute(
            select(tenant.c.tenant_id, tenant.c.name, tenant.c.require_signatures).where(named)
        )
        .one_or_none()
    )
    # utf8mb4_bin compares without spaces at the end
    return Tenant(*row) if row and (raw or row.name == text) else None

"""The agents and services of a tenant as administrators see them: one, or a page of them by name."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.storage import page_token
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.tables.identity import principal
from restante.storage.tables.inboxes import presence

PREFIXES = {PrincipalKind.AGENT: Prefix.AGENT, PrincipalKind.SERVICE: Prefix.SERVICE}


BY_NAME = "FORCE INDEX (uq_principal_tenant_id_kind_name)"
BY_STATUS = "FORCE INDEX (ix_principal_tenant_id_kind_status_paused)"
"""For those that are few: else a server puts all of a tenant in order for a page."""


class MachineStatus(StrEnum):
    """`removed` is final; the row stays, since events name it."""

    ACTIVE = "active"
    DISABLED = "disabled"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Machine:
    """An agent or a service. From `paused` on: of agents only; a limit that is None is the server's."""

    id: bytes
    kind: PrincipalKind
    name: str
    status: MachineStatus
    created_at: datetime
    paused: bool
    capabilities: tuple[str, ...]
    max_in_flight: int | None
    max_pending: int | None
    last_seen_at: datetime | None

    @property
    def public_id(self) -> str:
        """`agt_…` or `svc_…`."""
        return encode_id(PREFIXES[self.kind], self.id)


@dataclass(frozen=True, slots=True)
class MachinePage:
    """By name; the token of what comes after them, None: nothing."""

    machines: Sequence[Machine]
    next_page_token: str | None


def list_machines(
    session: Session,
    who: Administrator,
    kind: PrincipalKind,
    *,
    limit: int,
    token: str | None = None,
    status: MachineStatus | None = None,
    name: str | None = None,
    begins: str | None = None,
) -> MachinePage:
    """Those of that status (None: all that are not removed), of that name alone where it is given.

    `begins`: those whose name begins like that.

    Raises PageTokenInvalid and what `Administrator.require` does.
    """
    who.require(Right.AGENTS_READ)
    of = ("machines", who.tenant_id.hex(), kind.value, status or "", name or "", begins or "")
    after = page_token.take(session, of, token)
    query = machines().where(
        principal.c.tenant_id == who.tenant_id,
        principal.c.kind == kind.value,
        principal.c.status != MachineStatus.REMOVED.value
        if status is None
        else principal.c.status == status.value,
    )
    if name is not None:
        query = query.where(principal.c.name == name)
    if begins:
        query = query.where(principal.c.name.startswith(begins, autoescape=True))
    seldom = status not in (None, MachineStatus.ACTIVE) and name is None
    query = query.with_hint(principal, BY_STATUS if seldom else BY_NAME, "mysql")
    if after is not None:
        query = query.where(principal.c.name > after)
    rows = session.connection().execute(query.order_by(principal.c.name).limit(limit + 1)).all()
    # utf8mb4_bin compares without spaces at the end
    found = [machine_of(row) for row in rows if name is None or row.name == name]
    return MachinePage(*page_token.cut(session, of, found, limit, lambda one: one.name))


def find_machine(
    session: Session, tenant_id: bytes, kind: PrincipalKind, public_id: str, *, locked: bool = False
) -> Machine:
    """The tenant's agent or service of that id; NotFound where it has none.

    `locked`: nobody else changes it, its grants or its credentials until this transaction ends.
    """
    raw = decode_id(PREFIXES[kind], public_id)
    own = (
        principal.c.principal_id == raw,
        principal.c.tenant_id == tenant_id,
        principal.c.kind == kind.value,
    )
    connection = session.connection()
    if locked:
        connection.execute(select(principal.c.principal_id).where(*own).with_for_update())
    row = connection.execute(machines().where(*own)).one_or_none()
    if raw is None or row is None:
        raise NotFound
    return machine_of(row)


def find_lasting(
    session: Session, tenant_id: bytes, kind: PrincipalKind, public_id: str
) -> Machine:
    """The same for a change, locked; NotFound where it is removed too."""
    found = find_machine(session, tenant_id, kind, public_id, locked=True)
    if found.status is MachineStatus.REMOVED:
        raise removed(kind)
    return found


def removed(kind: PrincipalKind) -> NotFound:
    """Why nothing can be done to it any more."""
    return NotFound(f"The {kind} is removed, for good: make another one.")


def read_machine(
    session: Session, who: Administrator, kind: PrincipalKind, public_id: str
) -> Machine:
    """The same for one who may see it."""
    who.require(Right.AGENTS_READ)
    return find_machine(session, who.tenant_id, kind, public_id)


def machines() -> Select[Any]:
    """What `machine_of` needs, of all there are: for a list with more to say of each."""
    return select(
        principal.c.principal_id,
        principal.c.kind,
        principal.c.name,
        principal.c.status,
        principal.c.created_at,
        principal.c.paused,
        principal.c.capabilities,
        principal.c.max_in_flight,
        principal.c.max_pending,
        presence.c.last_seen_at,
    ).select_from(
        principal.outerjoin(presence, presence.c.recipient_id == principal.c.principal_id)
    )


def machine_of(row: Any) -> Machine:
    """A row of `machines`."""
    return Machine(
        id=row.principal_id,
        kind=PrincipalKind(row.kind),
        name=row.name,
        status=MachineStatus(row.status),
        created_at=row.created_at,
        paused=bool(row.paused),
        capabilities=tuple(json.loads(row.capabilities or "[]")),
        max_in_flight=row.max_in_flight,
        max_pending=row.max_pending,
        last_seen_at=row.last_seen_at,
    )

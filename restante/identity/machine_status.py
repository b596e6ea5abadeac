"""Disabling, enabling and removing an agent or a service; every process goes by it within a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine, MachineStatus, find_machine, removed
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.storage.clock import database_now
from restante.storage.tables.identity import credential, granted_scope, principal

_ACTIONS: Mapping[tuple[PrincipalKind, MachineStatus], Action] = {
    (PrincipalKind.AGENT, MachineStatus.ACTIVE): Action.AGENT_ENABLE,
    (PrincipalKind.AGENT, MachineStatus.DISABLED): Action.AGENT_DISABLE,
    (PrincipalKind.AGENT, MachineStatus.REMOVED): Action.AGENT_REMOVE,
    (PrincipalKind.SERVICE, MachineStatus.ACTIVE): Action.SERVICE_ENABLE,
    (PrincipalKind.SERVICE, MachineStatus.DISABLED): Action.SERVICE_DISABLE,
    (PrincipalKind.SERVICE, MachineStatus.REMOVED): Action.SERVICE_REMOVE,
}


def set_status(
    session: Session,
    who: Administrator,
    kind: PrincipalKind,
    public_id: str,
    status: MachineStatus,
    *,
    reason: str | None = None,
) -> Machine:
    """The agent or service with that status. One that is removed stays it: else NotFound, as for no such one.

    With a removal its credentials and grants end; its name stays taken, since events name it. What is as
    it was is no change, and no entry of the audit. Raises what `Administrator.require` does.
    """
    who.require(Right.AGENTS_WRITE)
    found = find_machine(session, who.tenant_id, kind, public_id, locked=True)
    if found.status is status:
        return found
    if found.status is MachineStatus.REMOVED:
        raise removed(kind)
    connection = session.connection()
    own = principal.c.principal_id == found.id
    connection.execute(update(principal).where(own).values(status=status.value))
    if status is MachineStatus.REMOVED:
        connection.execute(
            update(credential)
            .where(credential.c.principal_id == found.id, credential.c.revoked_at.is_(None))
            .values(revoked_at=database_now(session))
        )
        connection.execute(delete(granted_scope).where(granted_scope.c.principal_id == found.id))
    action = _ACTIONS[kind, status]
    told = found.name if reason is None else f"{found.name}: {reason}"
    record(session, Entry(who.tenant_id, who.by, action, found.public_id, reason=told))
    return replace(found, status=status)

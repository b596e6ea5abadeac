"""What administrators set of an agent: that it is there, what it can do, how much it may hold, its pause."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson
from sqlalchemy import update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.agents import check_capabilities, create_agent
from restante.identity.machine_list import Machine, find_lasting
from restante.identity.machines import Enrolled
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.tenant_settings import MOST_PENDING
from restante.signals.rings import ring
from restante.signals.sweep import waiting
from restante.storage.tables.identity import principal

MOST_IN_FLIGHT = 1_000_000
_MOST = {"max_in_flight": MOST_IN_FLIGHT, "max_pending": MOST_PENDING}


def add_agent(
    session: Session,
    who: Administrator,
    *,
    name: str,
    grants: Sequence[str] = (),
    capabilities: Sequence[str] = (),
) -> Enrolled:
    """A new agent and its secret. It takes the right to assign grants besides where there are any.

    Raises ValidationFailed and what `Administrator.require` does.
    """
    who.require(Right.AGENTS_WRITE)
    if grants:
        who.require(Right.GRANTS_WRITE)
    return create_agent(
        session,
        who.tenant_id,
        name=name,
        grants=grants,
        capabilities=capabilities,
        by=who.by,
    )


def change_agent(
    session: Session, who: Administrator, public_id: str, changes: Mapping[str, Any]
) -> Machine:
    """Set `capabilities`, `max_in_flight`, `max_pending`, those named; a limit of None is the server's.

    Holds for claims and publications that begin half a second later. What is as it was is no change, and
    no entry of the audit. Raises NotFound, ValidationFailed and what `Administrator.require` does.
    """
    who.require(Right.AGENTS_WRITE)
    wanted = _checked(changes)
    before = find_lasting(session, who.tenant_id, PrincipalKind.AGENT, public_id)
    changed = {name: value for name, value in wanted.items() if value != getattr(before, name)}
    if not changed:
        return before
    told = {name: orjson.dumps(value).decode() for name, value in changed.items()}
    row = {name: told[name] if name == "capabilities" else changed[name] for name in changed}
    _update(session, before, row)
    reason = ", ".join(f"{name} {text}" for name, text in told.items())
    entry = Entry(who.tenant_id, who.by, Action.AGENT_UPDATE, before.public_id, reason=reason)
    record(session, entry)
    return replace(before, **changed)


def pause_agent(
    session: Session, who: Administrator, public_id: str, *, paused: bool = True
) -> Machine:
    """Have its claims answer nothing, or have it go on; what it holds it may settle, its mail is kept.

    When it goes on, its bell rings where something waits. Raises NotFound and what
    `Administrator.require` does.
    """
    who.require(Right.AGENTS_WRITE)
    before = find_lasting(session, who.tenant_id, PrincipalKind.AGENT, public_id)
    if before.paused is paused:
        return before
    _update(session, before, {"paused": paused})
    if not paused:
        projects = projects_of(session, who.tenant_id).values()
        stand = waiting(session, [(before.id, project.id) for project in projects])
        for (recipient_id, project_id), found in stand.items():
            if found.waits:
                ring(session, recipient_id, project_id, head=found.head)
    action = Action.AGENT_PAUSE if paused else Action.AGENT_RESUME
    record(session, Entry(who.tenant_id, who.by, action, before.public_id, reason=before.name))
    return replace(before, paused=paused)


def _checked(changes: Mapping[str, Any]) -> dict[str, Any]:
    if not changes:
        raise ValidationFailed.at(
            "", "names nothing to change; give capabilities, max_in_flight or max_pending"
        )
    checked = dict(changes)
    if "capabilities" in checked:
        checked["capabilities"] = tuple(check_capabilities(checked["capabilities"]))
    for name, most in _MOST.items():
        value = checked.get(name)
        if value is not None and not 1 <= value <= most:
            raise ValidationFailed.at(f"/{name}", f"must be 1 to {most}, or null for the server's")
    return checked


def _update(session: Session, agent: Machine, row: Mapping[str, Any]) -> None:
    session.connection().execute(
        update(principal).where(principal.c.principal_id == agent.id).values(row)
    )

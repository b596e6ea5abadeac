"""What an agent may do, said anew: all at once, so that of two who say it one is right and none is mixed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from sqlalchemy import delete
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import REASON_CHARACTERS, Entry
from restante.identity.administrators import Administrator
from restante.identity.grants import add_grants, check_grants, grants_of
from restante.identity.machine_list import find_lasting, find_machine
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.scopes import Scope
from restante.storage.tables.identity import granted_scope


def read_grants(session: Session, who: Administrator, public_id: str) -> list[str]:
    """What the agent may do, sorted. Raises NotFound and what `Administrator.require` does."""
    who.require(Right.GRANTS_READ, Right.AGENTS_READ)
    found = find_machine(session, who.tenant_id, PrincipalKind.AGENT, public_id)
    return sorted(map(str, grants_of(session, found.id)))


def replace_grants(
    session: Session,
    who: Administrator,
    public_id: str,
    grants: Sequence[str],
    *,
    reason: str | None = None,
) -> list[str]:
    """The agent may do this and nothing else; what it may do now, sorted, each once.

    What is taken away ends within a second on every node, in tokens that are out too; what is given is in
    tokens got from now on. Services have no grants here: their scopes stay what they were made with, so
    that who assigns grants cannot raise himself. `reason`: why, where it is said; in the audit. Raises
    NotFound, ValidationFailed and what `Administrator.require` does.
    """
    who.require(Right.GRANTS_WRITE)
    agent = find_lasting(session, who.tenant_id, PrincipalKind.AGENT, public_id)
    slugs = projects_of(session, who.tenant_id)
    wanted = set(check_grants(grants, PrincipalKind.AGENT, slugs=slugs, pointer="/grants"))
    held = grants_of(session, agent.id)
    given, withdrawn = wanted - held, held - wanted
    if withdrawn:
        session.connection().execute(
            delete(granted_scope).where(
                granted_scope.c.principal_id == agent.id,
                granted_scope.c.scope.in_([str(scope) for scope in withdrawn]),
            )
        )
    add_grants(session, agent.id, given)
    told = [*_told("withdrawn: ", withdrawn), *_told("given: ", given)]
    if told and reason is not None:
        told.append(f"why: {reason}")
    record(
        session,
        *(
            Entry(who.tenant_id, who.by, Action.GRANT_ASSIGN, agent.public_id, reason=text)
            for text in told
        ),
    )
    return sorted(map(str, wanted))


def _told(label: str, scopes: Iterable[Scope]) -> Iterator[str]:
    """All of them, in as many reasons as it takes: one of the audit is cut at its length."""
    text = ""
    for scope in sorted(map(str, scopes)):
        longer = f"{text}, {scope}" if text else f"{label}{scope}"
        if len(longer) > REASON_CHARACTERS:
            yield text
            longer = f"{label}{scope}"
        text = longer
    if text:
        yield text

"""What projects say of events that nobody has read for too long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.identity.scopes import Verb
from restante.storage.tables.identity import granted_scope, principal, project


@dataclass(frozen=True, slots=True)
class Policy:
    """What a project says of what is unread. Without an agent it is told to the operators."""

    tenant_id: bytes
    project_id: bytes
    slug: str
    after: timedelta
    agent_id: bytes | None


def policies(session: Session) -> list[Policy]:
    """Of all projects that have one."""
    rows = session.connection().execute(
        select(project)
        .where(project.c.unread_after_seconds.is_not(None))
        .order_by(project.c.project_id)
    )
    return [
        Policy(
            row.tenant_id,
            row.project_id,
            row.slug,
            timedelta(seconds=row.unread_after_seconds),
            row.unread_escalate_to,
        )
        for row in rows
    ]


def holds(session: Session, tenant_id: bytes, agent_id: bytes, slug: str) -> bool:
    """Whether this is an agent of the tenant, not removed, that may read or claim in the project."""
    enough = [f"agent:{s}:{verb}" for s in (slug, "*") for verb in (Verb.READ, Verb.CLAIM)]
    found = session.connection().execute(
        select(principal.c.principal_id)
        .join(granted_scope, granted_scope.c.principal_id == principal.c.principal_id)
        .where(
            principal.c.principal_id == agent_id,
            principal.c.tenant_id == tenant_id,
            principal.c.kind == "agent",
            principal.c.status != "removed",
            granted_scope.c.scope.in_(enough),
        )
        .limit(1)
    )
    return found.first() is not None

"""What an agent may be sent by a callback now: by its grants, its status, and its callback's projects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.identity.principal import Principal, PrincipalKind, Project
from restante.identity.projects import projects_of
from restante.identity.requested_scopes import still_given
from restante.identity.scopes import ProjectScope, Scope, Verb, parse_scope
from restante.storage.tables.identity import granted_scope, principal
from restante.webhooks.callbacks import Mode


@dataclass(frozen=True, slots=True)
class Standing:
    """An active agent with all that its grants give it; no token narrows it here."""

    agent: Principal

    def projects(self, mode: Mode, named: Collection[str] | None) -> tuple[Project, ...]:
        """Those whose events a callback may be given or told of."""
        verbs = (Verb.CLAIM,) if mode is Mode.DELIVER else (Verb.READ, Verb.CLAIM)
        reachable = {project for verb in verbs for project in self.agent.covered(verb)}
        return tuple(
            project
            for project in self.agent.covered(Verb.CALLBACK)
            if project in reachable and (named is None or project.slug in named)
        )


def standings(session: Session, agent_ids: Collection[bytes]) -> dict[bytes, Standing]:
    """Those of these agents that are active."""
    if not agent_ids:
        return {}
    connection = session.connection()
    grants: defaultdict[bytes, set[Scope]] = defaultdict(set)
    granted = connection.execute(
        select(granted_scope.c.principal_id, granted_scope.c.scope).where(
            granted_scope.c.principal_id.in_(sorted(agent_ids))
        )
    )
    for row in granted:
        if (parsed := parse_scope(row.scope)) is not None:
            grants[row.principal_id].add(parsed)
    rows = connection.execute(
        select(principal.c.principal_id, principal.c.tenant_id, principal.c.name).where(
            principal.c.principal_id.in_(sorted(agent_ids)), principal.c.status == "active"
        )
    ).all()
    projects = {t: projects_of(session, t) for t in {row.tenant_id for row in rows}}
    return {
        row.principal_id: Standing(
            Principal(
                row.tenant_id,
                PrincipalKind.AGENT,
                row.principal_id,
                row.name,
                still_given(
                    [
                        ProjectScope(slug, verb)
                        for slug in projects[row.tenant_id]
                        for verb in (Verb.READ, Verb.CLAIM, Verb.CALLBACK)
                    ],
                    grants=grants[row.principal_id],
                    slugs=projects[row.tenant_id].keys(),
                ),
                projects[row.tenant_id],
            )
        )
        for row in rows
    }

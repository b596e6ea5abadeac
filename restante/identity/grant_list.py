"""The agents of a tenant with what they are granted, by name, a page at a time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, exists, func, literal, select
from sqlalchemy.orm import Session

from restante.identity.administrators import Administrator
from restante.identity.machine_list import MachineStatus
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.scopes import ProjectScope, Scope, Verb, parse_scope
from restante.storage import page_token
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import granted_scope, principal

EVERY = "*"


@dataclass(frozen=True, slots=True)
class Granted:
    """An agent and its grants."""

    id: bytes
    name: str
    status: MachineStatus
    grants: frozenset[Scope]

    @property
    def public_id(self) -> str:
        """`agt_…`."""
        return encode_id(Prefix.AGENT, self.id)

    def verbs(self, project: str) -> frozenset[Verb]:
        """Those granted for the project by its name; `*` is one."""
        return frozenset(
            scope.verb
            for scope in self.grants
            if isinstance(scope, ProjectScope) and scope.project == project
        )


def list_granted(
    session: Session,
    who: Administrator,
    *,
    limit: int,
    token: str | None = None,
    begins: str = "",
    project: str | None = None,
    verb: Verb | None = None,
) -> tuple[list[Granted], str | None]:
    """Agents that are not removed, those whose name begins like that → (agents, next page token).

    `project`, `verb`: those alone that have one of its verbs, or that verb, by `*` too. Raises
    PageTokenInvalid and what `Administrator.require` does.
    """
    who.require(Right.GRANTS_READ, Right.AGENTS_READ)
    of = ("granted", who.tenant_id.hex(), begins, project or "", verb or "")
    after = page_token.take(session, of, token)
    query = select(principal.c.principal_id, principal.c.name, principal.c.status).where(
        principal.c.tenant_id == who.tenant_id,
        principal.c.kind == PrincipalKind.AGENT.value,
        principal.c.status != MachineStatus.REMOVED.value,
    )
    if begins:
        query = query.where(principal.c.name.startswith(begins, autoescape=True))
    if project or verb:
        slugs = [project] if project else list(projects_of(session, who.tenant_id))
        query = query.where(_has_one_of([*slugs, EVERY], [verb] if verb else list(Verb)))
    if after is not None:
        query = query.where(principal.c.name > after)
    rows = session.connection().execute(query.order_by(principal.c.name).limit(limit + 1)).all()
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.name)
    grants = grants_of_many(session, [row.principal_id for row in shown])
    found = [
        Granted(row.principal_id, row.name, MachineStatus(row.status), grants[row.principal_id])
        for row in shown
    ]
    return found, more


def grants_of_many(session: Session, ids: Collection[bytes]) -> dict[bytes, frozenset[Scope]]:
    """What is granted to each of these principals."""
    found: defaultdict[bytes, set[Scope]] = defaultdict(set)
    if ids:
        rows = session.connection().execute(
            select(granted_scope).where(granted_scope.c.principal_id.in_(sorted(ids)))
        )
        for row in rows:
            if (scope := parse_scope(row.scope)) is not None:
                found[row.principal_id].add(scope)
    return {id_: frozenset(found[id_]) for id_ in ids}


def count_reachable(
    session: Session, tenant_id: bytes, project: str, *, but: bytes, most: int
) -> int:
    """How many other active agents an event of the project may be sent to; at most `most` + 1."""
    others = (
        select(literal(1).label("one"))
        .where(
            principal.c.tenant_id == tenant_id,
            principal.c.kind == PrincipalKind.AGENT.value,
            principal.c.status != MachineStatus.REMOVED.value,
            principal.c.principal_id != but,
            _has_one_of([project, EVERY], [Verb.READ, Verb.CLAIM]),
        )
        .limit(most + 1)
        .subquery()
    )
    query = select(func.count()).select_from(others)
    return int(session.connection().execute(query).scalar_one())


def _has_one_of(slugs: Sequence[str], verbs: Sequence[Verb]) -> ColumnElement[bool]:
    scopes = [str(ProjectScope(slug, verb)) for slug in slugs for verb in verbs]
    return (
        exists()
        .where(
            granted_scope.c.principal_id == principal.c.principal_id,
            granted_scope.c.scope.in_(scopes),
        )
        .correlate(principal)
    )

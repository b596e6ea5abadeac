"""Whether many bearers may still listen, asked at once: what open streams are checked by."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import bindparam, null, or_, select, union_all
from sqlalchemy.orm import Session

from restante.identity.principal import PrincipalKind
from restante.identity.requested_scopes import still_given
from restante.identity.scopes import ProjectScope, Scope, Verb, parse_scope
from restante.identity.tokens import Claims
from restante.storage.clock import database_now
from restante.storage.tables.identity import (
    credential,
    granted_scope,
    principal,
    project,
    token_key,
)
from restante.storage.tables.logins import revoked_token


def may_read(session: Session, bearers: Collection[Claims]) -> dict[Claims, frozenset[bytes]]:
    """The projects each bearer may read now, by four statements however many are asked about.

    None where the agent is not active, the credential or token revoked or the token's key removed.
    """
    if not bearers:
        return {}
    connection = session.connection()
    ids = {"principals": sorted({b.principal_id for b in bearers})}
    kids = set(connection.execute(_KEYS, {"now": database_now(session)}).scalars())
    tenants = {r.principal_id: r.tenant_id for r in connection.execute(_ACTIVE, ids)}
    grants: dict[bytes, set[Scope]] = {}
    credentials: dict[bytes, set[bytes]] = {}
    revoked: set[tuple[bytes, str]] = set()
    for principal_id, scope, credential_id, token_id in connection.execute(_RIGHTS, ids):
        if token_id is not None:
            revoked.add((principal_id, token_id))
        elif credential_id is not None:
            credentials.setdefault(principal_id, set()).add(credential_id)
        elif (parsed := parse_scope(scope)) is not None:
            grants.setdefault(principal_id, set()).add(parsed)
    slugs: dict[bytes, dict[str, bytes]] = {}
    for tenant_id, slug, project_id in connection.execute(
        _PROJECTS, {"tenants": sorted(set(tenants.values()))}
    ):
        slugs.setdefault(tenant_id, {})[slug] = project_id
    return {
        bearer: _readable(
            bearer,
            grants.get(bearer.principal_id, set()),
            slugs.get(tenants[bearer.principal_id], {}),
        )
        if bearer.principal_id in tenants
        and bearer.kid in kids
        and bearer.credential_id in credentials.get(bearer.principal_id, ())
        and (bearer.principal_id, bearer.token_id) not in revoked
        else frozenset()
        for bearer in bearers
    }


def _readable(
    bearer: Claims, grants: Collection[Scope], projects: Mapping[str, bytes]
) -> frozenset[bytes]:
    given = still_given(bearer.scopes, grants=grants, slugs=projects.keys())
    return frozenset(
        projects[scope.project]
        for scope in given
        if isinstance(scope, ProjectScope) and scope.verb is Verb.READ
    )


_KEYS = select(token_key.c.kid).where(
    or_(token_key.c.verifies_until.is_(None), token_key.c.verifies_until > bindparam("now"))
)
_ACTIVE = select(principal.c.principal_id, principal.c.tenant_id).where(
    principal.c.principal_id.in_(bindparam("principals", expanding=True)),
    principal.c.kind == PrincipalKind.AGENT.value,
    principal.c.status == "active",
)
_RIGHTS = union_all(
    select(
        granted_scope.c.principal_id,
        granted_scope.c.scope,
        null().label("credential_id"),
        null().label("token_id"),
    ).where(granted_scope.c.principal_id.in_(bindparam("principals", expanding=True))),
    select(credential.c.principal_id, null(), credential.c.credential_id, null()).where(
        credential.c.principal_id.in_(bindparam("principals", expanding=True)),
        credential.c.revoked_at.is_(None),
    ),
    select(revoked_token.c.principal_id, null(), null(), revoked_token.c.token_id).where(
        revoked_token.c.principal_id.in_(bindparam("principals", expanding=True))
    ),
)
_PROJECTS = select(project.c.tenant_id, project.c.slug, project.c.project_id).where(
    project.c.tenant_id.in_(bindparam("tenants", expanding=True))
)

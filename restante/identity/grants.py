"""Grants: the scopes a principal may ask for. Kept per agent or service."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from restante.errors import ValidationFailed
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import ProjectScope, Scope, TenantScope, parse_scope
from restante.storage.tables.identity import granted_scope

MOST_GRANTS = 200


def check_grants(
    texts: Sequence[str], kind: PrincipalKind, *, slugs: Collection[str], pointer: str
) -> list[Scope]:
    """The scopes that the texts name, once each; ValidationFailed naming the first that cannot be granted.

    A project must be there already (`slugs`), or be `*`; `tenant:` scopes are for services.
    """
    scopes: dict[Scope, None] = {}
    for index, text in enumerate(texts):
        scope = parse_scope(text)
        place = f"{pointer}/{index}"
        if scope is None:
            raise ValidationFailed.at(
                place,
                f"{text!r} is no scope; write agent:<project>:read, :claim, :publish, :memory or :callback, "
                "or for a service tenant:events:publish and the like; /api/docs lists them all",
            )
        if isinstance(scope, TenantScope) and kind is not PrincipalKind.SERVICE:
            raise ValidationFailed.at(place, f"{text} can be granted to services only")
        if isinstance(scope, ProjectScope) and scope.project != "*" and scope.project not in slugs:
            raise ValidationFailed.at(
                place,
                f"the tenant has no project {scope.project!r}; create it first, or use * for all",
            )
        scopes[scope] = None
    if len(scopes) > MOST_GRANTS:
        raise ValidationFailed.at(
            pointer, f"at most {MOST_GRANTS} grants; one with * covers every project"
        )
    return list(scopes)


def add_grants(session: Session, principal_id: bytes, scopes: Iterable[Scope]) -> None:
    """Grant the scopes to a principal that has none of them yet."""
    rows = [{"principal_id": principal_id, "scope": str(scope)} for scope in scopes]
    if rows:
        session.connection().execute(insert(granted_scope), rows)


def grants_of(session: Session, principal_id: bytes) -> frozenset[Scope]:
    """What is granted to the principal now."""
    texts = session.connection().execute(
        select(granted_scope.c.scope).where(granted_scope.c.principal_id == principal_id)
    )
    return frozenset(scope for text in texts.scalars() if (scope := parse_scope(text)) is not None)

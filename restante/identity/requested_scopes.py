"""Which scopes a token gets, out of what is granted and what was asked for. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from restante.errors import RestanteError
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import ProjectScope, Scope, TenantScope, Verb, covers, parse_scope

MOST_SCOPES = 50


class InvalidScope(RestanteError):
    """The scope asked for is unknown, malformed or more than what is granted."""


def scopes_for_token(
    asked: str | None, kind: PrincipalKind, *, grants: Iterable[Scope], slugs: Collection[str]
) -> list[Scope]:
    """The scopes of a new token, never more than asked for, never with `*`; InvalidScope else.

    Nothing asked: read and claim of the granted projects for an agent, everything granted for a service.
    `slugs`: the projects the tenant has at this moment, which is what a grant of `*` means.
    """
    given = expand(grants, slugs)
    if asked is None or not asked.strip():
        scopes = [s for s in given if kind is PrincipalKind.SERVICE or _is_default(s)]
        if not scopes:
            raise InvalidScope(
                "This client has no grant to read or claim; name the scope that is meant, if it has others."
            )
    else:
        scopes = []
        for text in dict.fromkeys(asked.split(" ")):
            scope = parse_scope(text)
            if scope is None or scope not in given:
                # one answer for an unknown, a foreign and an ungranted project
                raise InvalidScope("A scope that was asked for is not granted to this client.")
            scopes.append(scope)
    if len(scopes) > MOST_SCOPES:
        raise InvalidScope(f"A token holds at most {MOST_SCOPES} scopes; ask for fewer.")
    return scopes


def expand(grants: Iterable[Scope], slugs: Collection[str]) -> dict[Scope, None]:
    """What the grants give at this moment, in order: `*` becomes every project there is."""
    given: set[Scope] = set()
    for grant in grants:
        if isinstance(grant, TenantScope):
            given.add(grant)
        elif grant.project == "*":
            given.update(ProjectScope(slug, grant.verb) for slug in slugs)
        elif grant.project in slugs:
            given.add(grant)
    return dict.fromkeys(sorted(given, key=str))


def still_given(
    scopes: Iterable[Scope], *, grants: Collection[Scope], slugs: Collection[str]
) -> frozenset[Scope]:
    """Those scopes of a token that its principal's grants still give and whose project is there."""
    return frozenset(
        scope
        for scope in scopes
        if any(covers(grant, scope) for grant in grants)
        and (isinstance(scope, TenantScope) or scope.project in slugs)
    )


def _is_default(scope: Scope) -> bool:
    return isinstance(scope, ProjectScope) and scope.verb in (Verb.READ, Verb.CLAIM)

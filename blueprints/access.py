"""Who may call a route. Every route states it; a test walks the URL map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from restante.errors import InsufficientScope, NotItsOwn
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.roles import Right
from restante.identity.scopes import TenantScope, Verb

View = TypeVar("View", bound=Callable[..., Any])
_STATED = "restante_access"


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One of `scopes` is needed, an `agent:<project>:<verb>` for any project at all.

    `own`: the path names an agent, and only that agent is let in. `public`: why no token is needed.
    `session`: an operator's instead of a token, and `right` is what his role must include, if any.
    """

    scopes: tuple[Verb | TenantScope, ...] = ()
    own: bool = False
    public: str = ""
    session: bool = False
    right: Right | None = None

    def admit(self, principal: Principal, path: dict[str, str]) -> None:
        """NotItsOwn on another agent's path, InsufficientScope without any of the scopes."""
        if self.own and not (
            principal.kind is PrincipalKind.AGENT and path["agent_id"] == principal.public_id
        ):
            raise NotItsOwn
        for scope in self.scopes:
            if isinstance(scope, TenantScope):
                if scope in principal.scopes:
                    return
            elif principal.covered(scope):
                return
        wanting = self.scope_names()[0]
        raise InsufficientScope(wanting.replace("<project>", path.get("project", "<project>")))

    def scope_names(self) -> list[str]:
        """As they are written, any one of which is enough."""
        return [
            s.value if isinstance(s, TenantScope) else f"agent:<project>:{s.value}"
            for s in self.scopes
        ]


def own(verb: Verb) -> Access:
    """The agent of the path, with the verb for some project."""
    return Access(scopes=(verb,), own=True)


def any_of(*scopes: Verb | TenantScope) -> Access:
    """Any principal that has one of them."""
    return Access(scopes=scopes)


def public(why: str) -> Access:
    """Anybody."""
    return Access(public=why)


def signed_in(right: Right | None = None) -> Access:
    """An operator, by his session; with a role that includes the right, where one is named."""
    return Access(session=True, right=right)


def states(access: Access) -> Callable[[View], View]:
    """Decorate a view that is no endpoint with who may call it."""

    def stated(view: View) -> View:
        setattr(view, _STATED, access)
        return view

    return stated


def stated_by(view: Callable[..., Any]) -> Access | None:
    """What a view states, or None: then the test of the URL map fails."""
    found: Access | None = getattr(view, _STATED, None)
    return found

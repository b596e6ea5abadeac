"""Who is calling and what that lets him do now: permission is a value that verbs take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from restante.errors import InsufficientScope
from restante.identity.scopes import ProjectScope, Scope, TenantScope, Verb
from restante.storage.ids import Prefix, encode_id

_EVERYWHERE = {
    Verb.PUBLISH: TenantScope.EVENTS_PUBLISH,
    Verb.MEMORY: TenantScope.MEMORY_WRITE,
}
"""Verbs that a tenant scope gives in every project of the tenant."""


class PrincipalKind(StrEnum):
    """Machines that call; operators come with their own sessions."""

    AGENT = "agent"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Project:
    """A project as the engine needs it. `holds`: a quarantined head holds its ordering key."""

    id: bytes
    slug: str
    holds: bool = False


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. `scopes`: those of its token that its grants still give.

    `projects`: every project of the tenant by slug, so that a scope can be turned into ids.
    """

    tenant_id: bytes
    kind: PrincipalKind
    id: bytes
    name: str
    scopes: frozenset[Scope]
    projects: Mapping[str, Project] = field(repr=False)
    # of a tenant whose agents sign what changes something
    must_sign: bool = False
    # it has signed this request
    signed: bool = False
    # it lives as long as the state it was made from, and is asked the same thing at each call
    _covered: dict[Verb, tuple[Project, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def public_id(self) -> str:
        """`agt_…` or `svc_…`."""
        return encode_id(
            Prefix.AGENT if self.kind is PrincipalKind.AGENT else Prefix.SERVICE, self.id
        )

    def as_signer(self) -> Principal:
        """The same one, whose request is signed."""
        return replace(self, signed=True)

    def has(self, scope: TenantScope) -> bool:
        """Whether it holds this tenant scope."""
        return scope in self.scopes

    def covered(self, verb: Verb) -> tuple[Project, ...]:
        """The projects for which it has the verb, by slug; a tenant scope may mean all of them."""
        known = self._covered.get(verb)
        if known is None:
            known = self._covered[verb] = self._find_covered(verb)
        return known

    def _find_covered(self, verb: Verb) -> tuple[Project, ...]:
        everywhere = _EVERYWHERE.get(verb)
        if everywhere is not None and everywhere in self.scopes:
            return tuple(self.projects[slug] for slug in sorted(self.projects))
        slugs = {s.project for s in self.scopes if isinstance(s, ProjectScope) and s.verb is verb}
        return tuple(self.projects[slug] for slug in sorted(slugs & self.projects.keys()))

    def require_any(self, verb: Verb) -> tuple[Project, ...]:
        """The covered projects; InsufficientScope where there is none."""
        covered = self.covered(verb)
        if not covered:
            raise InsufficientScope(f"agent:<project>:{verb}")
        return covered

    def require(self, verb: Verb, slug: str) -> Project:
        """The project named, or InsufficientScope, whether or not that project exists."""
        for project in self.covered(verb):
            if project.slug == slug:
                return project
        raise InsufficientScope(f"agent:{slug}:{verb}")

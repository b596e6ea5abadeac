"""What a scope means, in a word or two: how it is abbreviated, what its holder does, and where."""

from __future__ import annotations

from dataclasses import dataclass

from restante.identity.scopes import ProjectScope, Scope, Verb


@dataclass(frozen=True, slots=True)
class ScopeWords:
    """`does` and `to`: "Read" and "its mail in". `scope`: as it is written."""

    short: str
    does: str
    to: str
    project: str
    scope: str


_OF_VERBS = {
    Verb.READ: ("rd", "Read", "its mail in"),
    Verb.CLAIM: ("cl", "Claim and settle", "its mail in"),
    Verb.PUBLISH: ("pu", "Send", "events to agents of"),
    Verb.MEMORY: ("me", "Write", "memory in"),
    Verb.CALLBACK: ("cb", "Register", "callbacks for"),
}


def words_of(scope: Scope) -> ScopeWords:
    """Those of a scope."""
    if not isinstance(scope, ProjectScope):
        return ScopeWords("te", "Use", str(scope), "", str(scope))
    short, does, to = _OF_VERBS[scope.verb]
    return ScopeWords(short, does, to, scope.project, str(scope))

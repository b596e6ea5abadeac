"""Single changes of what agents may do, of several at once: all of them, or none and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from restante.errors import ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.grant_replacement import replace_grants
from restante.identity.grants import grants_of
from restante.identity.machine_list import find_lasting
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.identity.scopes import ProjectScope, parse_scope
from restante.storage.ids import Prefix, decode_id

MOST_CHANGES = 200
REASON_CHARACTERS = 480
"""It is told in the audit behind two words."""


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """A scope that an agent is given, or that is taken from it. As text: `+agt_….agent:p:read`."""

    agent: str
    project: str
    verb: str
    given: bool

    @property
    def scope(self) -> ProjectScope:
        """What it is about."""
        scope = parse_scope(f"agent:{self.project}:{self.verb}")
        if not isinstance(scope, ProjectScope):
            raise ValidationFailed.at("/change", "names no scope of an agent")
        return scope

    def __str__(self) -> str:
        return f"{'+' if self.given else '-'}{self.agent}.agent:{self.project}:{self.verb}"


def read_change(text: str) -> Change | None:
    """The change that a text says; None: it says none."""
    agent, _, name = text[1:].partition(".")
    scope = parse_scope(name)
    if text[:1] not in ("+", "-") or not isinstance(scope, ProjectScope):
        return None
    if decode_id(Prefix.AGENT, agent) is None:
        return None
    return Change(agent, scope.project, scope.verb.value, text[0] == "+")


def change_grants(
    session: Session, who: Administrator, changes: Sequence[Change], *, reason: str
) -> list[Change]:
    """Carry all of them out → those that do not fit what is granted now; if there is one, nothing was done.

    Agents are locked in the order of their ids. Raises NotFound, ValidationFailed and what
    `Administrator.require` does.
    """
    who.require(Right.GRANTS_WRITE)
    if not reason.strip() or len(reason) > REASON_CHARACTERS:
        raise ValidationFailed.at("/reason", f"must say why, in {REASON_CHARACTERS} characters")
    if not 1 <= len(changes) <= MOST_CHANGES:
        raise ValidationFailed.at("/changes", f"must be 1 to {MOST_CHANGES}")
    of_agents: defaultdict[str, set[Change]] = defaultdict(set)
    for change in changes:
        of_agents[change.agent].add(change)
    unfit: list[Change] = []
    wanted: dict[str, list[str]] = {}
    for agent in sorted(of_agents):
        found = find_lasting(session, who.tenant_id, PrincipalKind.AGENT, agent)
        held = grants_of(session, found.id)
        unfit += [one for one in of_agents[agent] if (one.scope in held) is one.given]
        given = {one.scope for one in of_agents[agent] if one.given}
        taken = {one.scope for one in of_agents[agent] if not one.given}
        wanted[agent] = sorted(map(str, held - taken | given))
    if not unfit:
        for agent, grants in wanted.items():
            replace_grants(session, who, agent, grants, reason=reason)
    return sorted(unfit)

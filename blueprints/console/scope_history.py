"""What was assigned, when, by whom and why: entries of the audit, those of one decision together. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from restante.audit.listing import Recorded

_WITHDRAWN, _GIVEN, _WHY = "withdrawn: ", "given: ", "why: "


@dataclass(slots=True)
class Assigned:
    """One decision about one agent."""

    at: datetime
    agent: str
    actor: str
    request_id: str | None
    withdrawn: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)
    why: str = ""
    other: str = ""

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """(what was done, the project or nothing, the verbs or the scope), withdrawn before given."""
        told = [("withdrawn", *_place(scope)) for scope in self.withdrawn]
        told += [("given", *_place(scope)) for scope in self.given]
        places = dict.fromkeys((done, project) for done, project, _ in told)
        return [
            (done, project, ", ".join(verb for *place, verb in told if place == [done, project]))
            for done, project in places
        ]


def assigned(entries: Iterable[Recorded]) -> list[Assigned]:
    """Newest first, as the entries come."""
    found: list[Assigned] = []
    for entry in entries:
        last = found[-1] if found else None
        same = (
            last is not None
            and entry.request_id is not None
            and (last.agent, last.request_id) == (entry.target, entry.request_id)
        )
        if last is None or not same:
            actor = entry.actor_id or f"the {entry.actor_kind}"
            last = Assigned(entry.at, entry.target or "", actor, entry.request_id)
            found.append(last)
        reason = entry.reason or ""
        if reason.startswith(_WITHDRAWN):
            last.withdrawn = [*_scopes(reason, _WITHDRAWN), *last.withdrawn]
        elif reason.startswith(_GIVEN):
            last.given = [*_scopes(reason, _GIVEN), *last.given]
        elif reason.startswith(_WHY):
            last.why = reason.removeprefix(_WHY)
        elif reason.startswith(("agent:", "tenant:")):  # it was made with them
            last.given = [*_scopes(reason, ""), *last.given]
        elif reason:
            last.other = reason
    return found


def _scopes(reason: str, label: str) -> list[str]:
    return reason.removeprefix(label).split(", ")


def _place(scope: str) -> tuple[str, str]:
    parts = scope.split(":")
    return (parts[1], parts[2]) if len(parts) == 3 and parts[0] == "agent" else ("", scope)

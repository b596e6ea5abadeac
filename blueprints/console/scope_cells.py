"""The matrix of agents by projects: what a cell shows, as signs and as words. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from restante.identity.grant_list import EVERY, Granted
from restante.identity.scopes import Verb

SHORT = {
    Verb.READ: "rd",
    Verb.CLAIM: "cl",
    Verb.PUBLISH: "pu",
    Verb.MEMORY: "me",
    Verb.CALLBACK: "cb",
}
KEYS = {
    Verb.READ: "r",
    Verb.CLAIM: "c",
    Verb.PUBLISH: "p",
    Verb.MEMORY: "m",
    Verb.CALLBACK: "b",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """An agent in a project. `granted`: there by name; `through`: by `*` alone."""

    project: str
    granted: tuple[Verb, ...]
    through: tuple[Verb, ...]

    @property
    def slots(self) -> list[tuple[str, str]]:
        """(sign, kind) of the five, in their order; kind: on, through or empty."""
        return [
            (SHORT[verb], "on")
            if verb in self.granted
            else (SHORT[verb], "through")
            if verb in self.through
            else ("", "")
            for verb in Verb
        ]

    @property
    def words(self) -> str:
        """The same in words."""
        said = [*self.granted, *(f"{verb} through *" for verb in self.through)]
        return ", ".join(said) or "none"


def cell_of(agent: Granted, project: str) -> Cell:
    """What the agent has in the project; `*` is one."""
    granted = agent.verbs(project)
    through = frozenset() if project == EVERY else agent.verbs(EVERY) - granted
    return Cell(
        project,
        tuple(verb for verb in Verb if verb in granted),
        tuple(verb for verb in Verb if verb in through),
    )

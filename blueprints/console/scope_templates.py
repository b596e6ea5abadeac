"""Sets of verbs that go together, by what an agent does with them. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from restante.identity.scopes import Verb


@dataclass(frozen=True, slots=True)
class Template:
    """`name`: as an address and a form have it; `verbs`: all that one who does this needs, and no more."""

    name: str
    title: str
    does: str
    verbs: tuple[Verb, ...]

    @property
    def value(self) -> str:
        """The verbs as one text."""
        return " ".join(self.verbs)


TEMPLATES = (
    Template(
        "reads",
        "Reads along",
        "sees its mail and memory of the project, and works on nothing",
        (Verb.READ,),
    ),
    Template("works", "Works", "takes its mail and settles it", (Verb.READ, Verb.CLAIM)),
    Template(
        "answers",
        "Works and answers",
        "also sends events to agents of the project",
        (Verb.READ, Verb.CLAIM, Verb.PUBLISH),
    ),
    Template(
        "keeps",
        "Works and keeps memory",
        "also writes what other agents of the project remember",
        (Verb.READ, Verb.CLAIM, Verb.PUBLISH, Verb.MEMORY),
    ),
    Template(
        "called",
        "Is called back",
        "works, answers, and is told or given its mail at an address of its own, which an admin approves",
        (Verb.READ, Verb.CLAIM, Verb.PUBLISH, Verb.CALLBACK),
    ),
    Template("sends", "Only sends", "a producer with an inbox it does not use", (Verb.PUBLISH,)),
    Template("nothing", "Nothing", "has nothing to do with the project", ()),
)
BY_NAME = {template.name: template for template in TEMPLATES}

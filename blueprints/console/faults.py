"""What is wrong with a form or an address: by the field it is wrong in, or as a page that says so."""

from __future__ import annotations

from collections.abc import Mapping

from restante.errors import RestanteError, ValidationFailed


class Unclear(RestanteError):
    """What is asked for is not understood. `there`: where it can be said better."""

    def __init__(self, detail: str, *, title: str = "Not understood", there: str = "") -> None:
        super().__init__(detail)
        self.title = title
        self.there = there


def sentence(faults: Mapping[str, str]) -> str:
    """All of them as one text, each after what it is a fault of."""
    told = (f"{name[:1].upper()}{name[1:]}: {said}." for name, said in faults.items())
    return " ".join(told)


def faults_of(error: ValidationFailed) -> dict[str, str]:
    """{the field: the sentence}; of several in one field (`/scopes/3`) the first."""
    found: dict[str, str] = {}
    for fault in error.members.get("errors", ()):
        field = str(fault["pointer"]).strip("/").partition("/")[0]
        found.setdefault(field, str(fault["detail"]))
    return found

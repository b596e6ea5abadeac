"""What is wrong with a form that was sent, by the field it is wrong in."""

from __future__ import annotations

from restante.errors import ValidationFailed


def faults_of(error: ValidationFailed) -> dict[str, str]:
    """{the field: the sentence}; of several in one field (`/scopes/3`) the first."""
    found: dict[str, str] = {}
    for fault in error.members.get("errors", ()):
        field = str(fault["pointer"]).strip("/").partition("/")[0]
        found.setdefault(field, str(fault["detail"]))
    return found

"""Which entries of the audit a page or an export means: what stands in its address, read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from werkzeug.datastructures import MultiDict

from blueprints.console.instants import NO_INSTANT, instant_in
from restante.audit.actions import Action
from restante.identity.administrators import Administrator
from restante.identity.called import id_called
from restante.storage.transaction import Session

TITLES = {
    "action": "did",
    "actor": "by",
    "target": "to",
    "since": "since",
    "until": "up to and with",
}
_MOST = 190


@dataclass(frozen=True, slots=True)
class AuditNarrowing:
    """`fields`: what is set, as an address has it. `filters`: the same, as `list_entries` takes it.

    `faults`: of the fields that mean nothing, which narrow to nothing at all.
    """

    fields: Mapping[str, str]
    filters: Mapping[str, Any]
    faults: Mapping[str, str]

    def query(self, **changed: str) -> str:
        """As a query; a field changed to nothing is left out."""
        fields = {name: text for name, text in {**self.fields, **changed}.items() if text}
        return f"?{urlencode(fields)}" if fields else ""


def audit_narrowing(
    session: Session, administrator: Administrator, asked: MultiDict[str, str]
) -> AuditNarrowing:
    """Who and what may be named by id, by e-mail or by name; days and instants are UTC."""
    fields = {name: text for name in TITLES if (text := asked.get(name, "").strip()[:_MOST])}
    filters: dict[str, Any] = {}
    faults: dict[str, str] = {}
    if (action := fields.get("action")) is not None:
        if action in list(Action):
            filters["action"] = Action(action)
        else:
            faults["action"] = "there is no such action"
    for name in ("actor", "target"):
        if name in fields:
            text = fields[name]
            filters[name] = id_called(session, administrator.tenant_id, text) or text
    for name, whole_day in (("since", timedelta(0)), ("until", timedelta(days=1))):
        if name in fields:
            at = instant_in(fields[name], whole_day)
            if at is None:
                faults[name] = NO_INSTANT
            else:
                filters[name] = at
    return AuditNarrowing(fields, filters, faults)

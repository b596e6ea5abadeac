"""Every page that somebody who is signed in can open by its address: from the URL map, none by hand."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Flask

from blueprints.access import stated_by
from restante.identity.roles import Role, may

NO_PAGES = frozenset({"/live"})
"""Streams."""
ORDERS = frozenset(f"/quarantine/{verb}" for verb in ("redrive", "amend", "discard"))
"""Pages that are of some events: here of all that lie there."""


def pages_of(app: Flask, role: Role, ids: Mapping[str, str]) -> list[str]:
    """Paths of the pages for that role, in order; without those that name what `ids` has no example of."""
    found = []
    for rule in app.url_map.iter_rules():
        access = stated_by(app.view_functions[rule.endpoint])
        if access is None or not access.session or "GET" not in (rule.methods or ()):
            continue
        if access.right is not None and not may(role, access.right):
            continue
        if rule.rule in NO_PAGES or not rule.arguments <= ids.keys():
            continue
        path = rule.rule
        for name in rule.arguments:
            start = path.index("<")
            path = path[:start] + ids[name] + path[path.index(">") + 1 :]
        found.append(f"{path}?all=yes" if path in ORDERS else path)
    return sorted(found)

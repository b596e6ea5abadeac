"""Entries of the audit in words: who did it where that is nobody with a name, and what it was about."""

from __future__ import annotations

from collections.abc import Mapping

from restante.audit.listing import Recorded

KINDS = {
    "application": "an application",
    "client": "somebody unknown",
    "command": "a command",
    "server": "the server",
}
"""By the kind of who did it; the others are somebody."""
_REASONS = {
    ("session.begin", "link"): "by a sign-in link",
    ("session.begin", "oidc"): "by the identity provider",
    ("link.create", "sign_in"): "to sign in",
    ("link.create", "invite"): "as an invitation",
    ("token.issue", "device"): "to a device",
}
_ROLES = ("operator.invite", "operator.update")


def about(entry: Recorded, names: Mapping[str, str]) -> str | None:
    """What the entry adds to whom it names; None: nothing."""
    reason, name = entry.reason, names.get(entry.target or "")
    if reason is None or reason == name:
        return None
    if entry.action in _ROLES:
        return reason.removeprefix(f"{name}, ").replace("_", " ")
    return _REASONS.get((entry.action, reason), reason)

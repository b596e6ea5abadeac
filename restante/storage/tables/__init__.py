"""Every table, one file per noun. Importing this fills the metadata."""

from restante.storage.base import metadata
from restante.storage.tables import (
    assignments,
    audit,
    callbacks,
    events,
    failures,
    identity,
    inboxes,
    keys,
    logins,
    memory,
    operation,
    operators,
    rooms,
    signals,
    signatures,
    triage,
)

__all__ = [
    "assignments",
    "audit",
    "callbacks",
    "events",
    "failures",
    "identity",
    "inboxes",
    "keys",
    "logins",
    "memory",
    "metadata",
    "operation",
    "operators",
    "rooms",
    "signals",
    "signatures",
    "triage",
]

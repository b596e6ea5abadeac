"""Every table, one file per noun. Importing this fills the metadata."""

from restante.storage.base import metadata
from restante.storage.tables import (
    audit,
    events,
    failures,
    identity,
    inboxes,
    keys,
    logins,
    memory,
    operation,
    operators,
    signals,
    signatures,
    triage,
)

__all__ = [
    "audit",
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
    "signals",
    "signatures",
    "triage",
]

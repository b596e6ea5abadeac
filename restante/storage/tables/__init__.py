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
    operation,
    operators,
    signals,
    signatures,
)

__all__ = [
    "audit",
    "events",
    "failures",
    "identity",
    "inboxes",
    "keys",
    "logins",
    "metadata",
    "operation",
    "operators",
    "signals",
    "signatures",
]

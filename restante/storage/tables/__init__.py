"""Every table, one file per noun. Importing this fills the metadata."""

from restante.storage.base import metadata
from restante.storage.tables import events, failures, identity, inboxes, keys, operation, signals

__all__ = ["events", "failures", "identity", "inboxes", "keys", "metadata", "operation", "signals"]

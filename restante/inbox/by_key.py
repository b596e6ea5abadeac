"""Rows of events that are locked or changed: found by the key that names them, and by no other.

Left to choose, the servers sometimes take another index that begins with the recipient, when an
inbox is small or its statistics are old. They then lock all its rows on the way, and wait for those
that somebody else holds.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, Update, select, update

from restante.storage.tables.events import agent_inbox

_BY_PLACE = "FORCE INDEX (PRIMARY)"
_BY_EVENT_ID = "FORCE INDEX (uq_agent_inbox_event_id)"


def select_by_place(*columns: Any) -> Select[Any]:
    """Columns of rows named by recipient and sequence."""
    return select(*columns).with_hint(agent_inbox, _BY_PLACE, "mysql")


def update_by_place() -> Update:
    """Change rows named by recipient and sequence."""
    return update(agent_inbox).with_hint(_BY_PLACE, dialect_name="mysql")


def select_by_event_id(*columns: Any) -> Select[Any]:
    """Columns of rows named by event id."""
    return select(*columns).with_hint(agent_inbox, _BY_EVENT_ID, "mysql")

"""A row in every table that is copied, with values that are easily spoilt on the way."""

from __future__ import annotations

import hashlib
import itertools
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Column, Table, insert, select

from restante.inbox.lifecycle import Gate
from restante.storage.copying import copied_tables
from restante.storage.tables.operation import incarnation
from restante.storage.transaction import Database

TEXT = "é \"quoted\" 'twice' 100%s \\n 😀"
BYTES = bytes(range(256)) * 2
INSTANT = datetime(2031, 2, 3, 4, 5, 6, 70_008)
BIG = 2**62 + 1
# what the CHECKs ask for
FITTING: dict[str, dict[str, Any]] = {
    "agent_inbox": {
        **dict.fromkeys(("claim_expires_at", "consumer", "final_at", "due_at")),
        "gate": Gate.QUARANTINED,
    },
    "agent_memory": {"memory_revision": BIG, "oldest_revision": 3},
    "archived_event": {"gate": Gate.COMPLETED},
    "assignment": {"state": "assigned"},
    "callback": {"mode": "notify", "status": "active"},
    "device_authorization": {"status": "approved"},
    "inbox": {"head": 7, "oldest_cursor": 3},
    "memory_entry": {"deleted_at": None},
    "operator": {"role": "platform_admin", "status": "active"},
    "operator_session": {"method": "link"},
    "scheduled_event": {"gate": Gate.SCHEDULED, "final_at": None},
    "sign_in_link": {"purpose": "invite"},
    "signing_key": {"public_jwk": None},
    "triage_job": {"state": "running", "finished_at": None},
}


def fill(database: Database) -> None:
    """Put a row into each table that has none yet."""
    numbers = itertools.count(1)
    for table in copied_tables():
        if table is not incarnation:
            database.run(lambda session, t=table: _fill(session.connection(), t, numbers))


def _fill(connection: Any, table: Table, numbers: Any) -> None:
    if connection.execute(select(table).limit(1)).first() is None:
        row = {column.name: _value(column, next(numbers)) for column in table.c}
        connection.execute(insert(table), row | FITTING.get(table.name, {}))


def _value(column: Column[Any], number: int) -> Any:
    kind = column.type.python_type
    length = getattr(column.type, "length", None)
    if kind is bytes:
        return BYTES if length is None else hashlib.sha256(b"%d" % number).digest()[:length]
    if kind is str:
        ascii_only = "mysql" in column.type._variant_mapping
        return f"a{number}"[:length] if ascii_only else TEXT[:length]
    if kind is datetime:
        return INSTANT + timedelta(microseconds=number)
    if kind is bool:
        return True
    if kind is float:
        return 0.1 + number * 1e-9
    return BIG if "Big" in type(column.type).__name__ else number

"""Other agents of a tenant, each with some mail of its own, by statements that make thousands at once."""

from __future__ import annotations

from sqlalchemy import Connection, text

EVENTS = 20
"""Of each."""
AT_ONCE = 1_000
_ID = "UNHEX(CONCAT(LPAD(HEX(n + 1), 8, '0'), LPAD('', 24, 'c')))"
"""The id of agent n."""


def crowd(connection: Connection, model: bytes, count: int) -> None:
    """So many agents like `model`, of its tenant, with its grants and a copy of its first events each."""
    connection.execute(text("CREATE TEMPORARY TABLE crowd (n INT PRIMARY KEY)"))
    for first in range(0, count, AT_ONCE):
        numbers = ",".join(f"({n})" for n in range(first, min(first + AT_ONCE, count)))
        connection.execute(text("DELETE FROM crowd"))
        connection.execute(text(f"INSERT INTO crowd VALUES {numbers}"))
        for table, rows in _COPIES.items():
            copied = text(f"INSERT INTO {table} SELECT {rows}")
            connection.execute(copied, {"r": model, "most": EVENTS})
        connection.commit()
    connection.execute(text("DROP TEMPORARY TABLE crowd"))
    for table in ("principal", "inbox", "agent_inbox", "event_content"):
        connection.execute(text(f"ANALYZE TABLE {table}")).all()


_COPIES = {
    "principal (principal_id, tenant_id, kind, name, created_at)": (
        f"{_ID}, tenant_id, kind, CONCAT('one-of-many-', n), created_at"
        " FROM crowd JOIN principal ON principal_id = :r"
    ),
    "granted_scope (principal_id, scope)": (
        f"{_ID}, scope FROM crowd JOIN granted_scope ON principal_id = :r"
    ),
    "inbox (recipient_id, tenant_id, epoch, head, changed_at)": (
        f"{_ID}, tenant_id, epoch, :most, changed_at FROM crowd JOIN inbox ON recipient_id = :r"
    ),
    (
        "agent_inbox (recipient_id, sequence_number, event_id, project_id, gate, `rank`,"
        " payload_bytes, max_attempts, available_at)"
    ): (
        f"{_ID}, sequence_number, UNHEX(CONCAT('CC', LPAD(HEX(n * :most + sequence_number), 30,"
        " '0'))), project_id, 1, `rank`, payload_bytes, max_attempts, available_at FROM crowd"
        " JOIN agent_inbox ON recipient_id = :r WHERE sequence_number <= :most ORDER BY n"
    ),
    "event_content (recipient_id, sequence_number, envelope, payload)": (
        f"{_ID}, sequence_number, envelope, COALESCE(payload, '{{}}') FROM crowd"
        " JOIN event_content ON recipient_id = :r WHERE sequence_number <= :most ORDER BY n"
    ),
}
"""{table and columns: what is selected}"""

"""An inbox with what piles up over months, by statements that make thousands of rows at once.

`make bench` measures in all of it, and tries the guards of guards.py there. The suite tries them in a
tenth, since a million rows would cost it minutes; `RESTANTE_PLAN_SCALE=1` has them all there too.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

from sqlalchemy import Connection, select, text

from restante.inbox.lifecycle import Gate
from restante.storage.tables.events import event_content
from restante.storage.tables.inboxes import inbox
from tests.factories import Mailbox

KEYS = 1_000
DIGITS = 1_000
CHUNK = 20_000


@dataclass(frozen=True)
class Amounts:
    """How many of each; `completed` come first in the inbox."""

    completed: int = 1_000_000
    claimable: int = 200_000
    waiting: int = 100_000
    elsewhere: int = 100_000
    scheduled: int = 100_000
    delayed: int = 100_000

    def scaled(self, by: float) -> Amounts:
        """The same mixture, smaller."""
        return Amounts(*(int(part * by) for part in astuple(self)))


@dataclass(frozen=True)
class Large:
    """The inbox, how many events were written into it, and the project that most of them belong to."""

    mail: Mailbox
    amounts: Amounts
    slug: str


def fill(
    connection: Connection,
    recipient_id: bytes,
    amounts: Amounts,
    *,
    project_id: bytes,
    elsewhere_id: bytes,
) -> None:
    """Write the events of `amounts` behind those the inbox has (at least one with its payload).

    All but `elsewhere` belong to `project_id`, those to `elsewhere_id`.
    """
    head = connection.execute(
        select(inbox.c.head).where(inbox.c.recipient_id == recipient_id)
    ).scalar_one()
    envelope, payload = connection.execute(
        select(event_content.c.envelope, event_content.c.payload).where(
            event_content.c.recipient_id == recipient_id, event_content.c.sequence_number == head
        )
    ).one()
    values = {"r": recipient_id, "p": project_id, "e": envelope, "y": payload}
    connection.execute(text("CREATE TEMPORARY TABLE digit (d INT PRIMARY KEY)"))
    digits = ",".join(f"({d})" for d in range(DIGITS))
    connection.execute(text(f"INSERT INTO digit VALUES {digits}"))
    connection.execute(text("CREATE TEMPORARY TABLE thousand AS SELECT d FROM digit"))
    connection.commit()
    key = f"UNHEX(SHA2(CONCAT('key', n % {KEYS}), 256))"
    claimable = {
        # the first thousand are the heads of the keys that others wait for
        "key_hash": f"IF(n < {KEYS}, {key}, NULL)",
        "ordering_sequence": f"IF(n < {KEYS}, 1, NULL)",
        "fence_base": f"IF(n < {KEYS}, 0, NULL)",
    }
    waiting = {"key_hash": key, "ordering_sequence": f"2 + n DIV {KEYS}"}
    delayed = dict.fromkeys(("not_before", "due_at"), "UTC_TIMESTAMP(6) + INTERVAL 1 DAY")
    for gate, count, columns in (
        (Gate.COMPLETED, amounts.completed, {"final_at": "UTC_TIMESTAMP(6)"}),
        (Gate.CLAIMABLE, amounts.claimable, claimable),
        (Gate.WAITING, amounts.waiting, waiting),
        (Gate.CLAIMABLE, amounts.elsewhere, {"project_id": f"X'{elsewhere_id.hex()}'"}),
        (Gate.DELAYED, amounts.delayed, delayed),
    ):
        _events(connection, values, gate, head, count, columns)
        if gate is Gate.WAITING:
            _keys(connection, values, head, head - amounts.claimable)
        head += count
    _scheduled(connection, values, amounts.scheduled)
    connection.execute(
        text("UPDATE inbox SET head = :head, unsettled_bound = :bound WHERE recipient_id = :r"),
        {**values, "head": head, "bound": head - amounts.completed + amounts.scheduled},
    )
    connection.commit()
    for table in ("agent_inbox", "event_content", "scheduled_event", "ordering_waiting"):
        connection.execute(text(f"ANALYZE TABLE {table}")).all()


def _events(
    connection: Connection,
    values: dict[str, Any],
    gate: Gate,
    head: int,
    count: int,
    columns: dict[str, str],
) -> None:
    chosen = {
        "recipient_id": ":r",
        "sequence_number": f"{head + 1} + n",
        "event_id": f"UNHEX(LPAD(HEX({head} + n), 32, '0'))",
        "project_id": ":p",
        "gate": str(gate.value),
        "`rank`": "n % 3 - 1",
        "payload_bytes": "300",
        "max_attempts": "5",
        "claim_generation": "1" if gate is Gate.COMPLETED else "0",
        "available_at": "UTC_TIMESTAMP(6)",
        **columns,
    }
    payload = "NULL" if gate is Gate.COMPLETED else ":y"
    content = {
        "recipient_id": ":r",
        "sequence_number": f"{head + 1} + n",
        "envelope": ":e",
        "payload": payload,
    }
    _many(connection, "agent_inbox", chosen, values, count)
    _many(connection, "event_content", content, values, count)


def _keys(connection: Connection, values: dict[str, Any], waiting: int, heads: int) -> None:
    """Rows of the ordering keys: heads from `heads` on, those that wait behind `waiting`."""
    connection.execute(
        text(
            "INSERT INTO ordering_key SELECT recipient_id, project_id, key_hash,"
            " MIN(sequence_number), 0, COUNT(*) FROM agent_inbox WHERE recipient_id = :r"
            " AND sequence_number > :heads AND key_hash IS NOT NULL"
            " GROUP BY recipient_id, project_id, key_hash"
        ),
        {**values, "heads": heads},
    )
    connection.execute(
        text(
            "INSERT INTO ordering_waiting SELECT recipient_id, project_id, key_hash,"
            " sequence_number FROM agent_inbox WHERE recipient_id = :r AND gate = 2"
            " AND sequence_number > :waiting"
        ),
        {**values, "waiting": waiting},
    )
    connection.commit()


def _scheduled(connection: Connection, values: dict[str, Any], count: int) -> None:
    chosen = {
        "event_id": "UNHEX(CONCAT('EE', LPAD(HEX(n), 30, '0')))",
        "recipient_id": ":r",
        "project_id": ":p",
        "gate": "0",
        "`rank`": "0",
        "payload_bytes": "300",
        "max_attempts": "5",
        "available_at": "UTC_TIMESTAMP(6) + INTERVAL 1 DAY",
        "due_at": "UTC_TIMESTAMP(6) + INTERVAL 1 DAY",
        "envelope": ":e",
        "payload": ":y",
    }
    _many(connection, "scheduled_event", chosen, values, count)


def _many(
    connection: Connection, table: str, columns: dict[str, str], values: dict[str, Any], count: int
) -> None:
    """Insert `count` rows made of expressions over n, which counts from 0."""
    names, made = ", ".join(columns), ", ".join(columns.values())
    for first in range(0, count, CHUNK):
        last = min(first + CHUNK, count)
        connection.execute(
            text(
                f"INSERT INTO {table} ({names}) SELECT {made} FROM"
                f" (SELECT {first} + a.d * {DIGITS} + b.d AS n FROM digit a JOIN thousand b"
                f" WHERE a.d < {CHUNK // DIGITS}) numbers WHERE n < {last} ORDER BY n"
            ),
            values,
        )
        connection.commit()

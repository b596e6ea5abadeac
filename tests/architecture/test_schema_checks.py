"""The schema's CHECKs are the lifecycle's rules (its page is compared in tests/docs)."""

from __future__ import annotations

import itertools
import sqlite3

from sqlalchemy import CheckConstraint, Table

from restante.inbox.lifecycle import (
    FINAL_GATES,
    PENDING_GATES,
    STATUS_OF,
    Gate,
)
from restante.storage.tables.events import agent_inbox, archived_event, scheduled_event
from restante.storage.tables.keys import idempotency_key, publication_key


def allowed(table: Table, **row: object) -> bool:
    """Whether the table's CHECKs let a row pass: asked of SQLite, on values alone."""
    names = [column.name for column in table.columns]
    checks = [str(c.sqltext) for c in table.constraints if isinstance(c, CheckConstraint)]
    assert checks
    values = {name: row.get(name) for name in names}
    columns = ", ".join(f":{name} AS {name}" for name in names)
    condition = " AND ".join(f"({check})" for check in checks)
    with sqlite3.connect(":memory:") as connection:
        answer = connection.execute(f"SELECT {condition} FROM (SELECT {columns})", values)
        return bool(answer.fetchone()[0] == 1)


def test_the_checks_of_the_log_are_the_lifecycles_rules() -> None:
    wrong = []
    optional = ("claim_expires_at", "consumer", "due_at", "final_at", "key_hash")
    for gate in [*(int(g) for g in Gate), 9]:
        for there in itertools.product([None, "x"], repeat=len(optional)):
            row = dict(zip(optional, there, strict=True))
            is_claimed = gate == Gate.CLAIMED
            ended = gate in FINAL_GATES or gate == Gate.QUARANTINED
            rule = (
                gate in STATUS_OF
                and gate != Gate.SCHEDULED
                and (row["claim_expires_at"] is not None) == is_claimed
                and (row["consumer"] is not None) == is_claimed
                and not (ended and row["due_at"])
                and (row["final_at"] is not None) == (gate in FINAL_GATES)
                and not (gate == Gate.WAITING and row["key_hash"] is None)
            )
            if allowed(agent_inbox, gate=gate, **row) != rule:
                wrong.append((gate, row))
    assert not wrong
    assert Gate.WAITING in PENDING_GATES


def test_sequence_null_means_scheduled() -> None:
    assert not agent_inbox.c.sequence_number.nullable
    assert "sequence_number" not in scheduled_event.c
    for gate in Gate:
        for due, final in itertools.product([None, "x"], repeat=2):
            rule = (gate is Gate.SCHEDULED and due is not None and final is None) or (
                gate is Gate.CANCELLED and due is None and final is not None
            )
            assert allowed(scheduled_event, gate=gate.value, due_at=due, final_at=final) == rule


def test_only_what_is_final_is_archived() -> None:
    assert {g for g in Gate if allowed(archived_event, gate=g.value)} == set(FINAL_GATES)


def test_idempotency_is_unique() -> None:
    assert [c.name for c in publication_key.primary_key] == [
        "producer_id",
        "recipient_id",
        "key_hash",
    ]
    assert [c.name for c in idempotency_key.primary_key] == ["principal_id", "key_hash"]

"""The diagram, the lifecycle's table and the schema's CHECKs say the same."""

from __future__ import annotations

import itertools
import re
import sqlite3

from sqlalchemy import CheckConstraint, Table

from restante.inbox.lifecycle import (
    FINAL,
    FINAL_GATES,
    PENDING_GATES,
    STATUS_OF,
    TRANSITIONS,
    Gate,
    Status,
)
from restante.storage.tables.events import agent_inbox, archived_event, scheduled_event
from restante.storage.tables.keys import idempotency_key, publication_key
from tests.architecture.sources import ROOT

PAGE = (ROOT / "docs" / "state-machine.md").read_text()
DIAGRAM = PAGE[PAGE.index("```mermaid") : PAGE.index("```\n", PAGE.index("```mermaid") + 3)]


def test_the_diagram_is_the_table() -> None:
    drawn = re.findall(r"^ +(\w+) --> (\w+): (\w+)$", DIAGRAM, re.MULTILINE)
    assert len(drawn) == len(set(drawn))
    coded = {
        (s.value, end.value, verb.value) for (s, verb), ends in TRANSITIONS.items() for end in ends
    }
    assert set(drawn) == coded


def test_the_diagram_begins_and_ends_where_events_do() -> None:
    assert set(re.findall(r"\[\*\] --> (\w+)", DIAGRAM)) == {"scheduled", "pending"}
    assert set(re.findall(r"(\w+) --> \[\*\]", DIAGRAM)) == set(FINAL)


def test_the_gates_are_those_of_the_page() -> None:
    rows = re.findall(r"^\| (\w+) \| (\d) \| (\w+) \|", PAGE, re.MULTILINE)
    assert {Gate[name]: Status(status) for name, _, status in rows} == STATUS_OF
    assert all(Gate[name] == int(number) for name, number, _ in rows)


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
        return answer.fetchone()[0] == 1


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

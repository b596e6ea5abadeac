"""What the audit is searched by goes along its indexes: a page costs a page, wherever it is asked for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.listing import list_entries
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.audit import audit_entry
from tests.architecture.plans import cost_of
from tests.support.databases import TestDatabase

pytestmark = pytest.mark.servers_only
ENTRIES = 6_000
PAGE = 20


@pytest.fixture
def chain_id(database: TestDatabase) -> bytes:
    """Thousands of entries, a second apart; one in a thousand is of somebody who is rarely there."""
    made, now = new_id(), database.run(database_now)
    rows: list[dict[str, Any]] = [
        {
            "chain_id": made,
            "number": number,
            "entry_id": new_id(),
            "at": now + timedelta(seconds=number),
            "actor_kind": "operator",
            "actor_id": "opr_rare" if number % 1_000 == 0 else "opr_often",
            "action": "agent.pause" if number % 1_000 == 0 else "event.redrive",
            "target": f"evt_{number % 1_000}",
            "outcome": "done",
            "previous_hash": bytes(32),
            "entry_hash": bytes(32),
        }
        for number in range(1, ENTRIES + 1)
    ]
    with database.engine.begin() as connection:
        connection.execute(insert(audit_entry), rows)
        connection.execute(text("ANALYZE TABLE audit_entry"))
    return made


def test_a_page_reads_a_page(database: TestDatabase, chain_id: bytes) -> None:
    begin = database.run(database_now)
    old = {"until": begin + timedelta(seconds=500)}
    cases: tuple[dict[str, Any], ...] = (
        {},
        {"actor": "opr_rare"},
        {"action": Action.AGENT_PAUSE},
        {"target": "evt_7"},
        old,
        {"since": begin + timedelta(seconds=100), **old},
        {"actor": "opr_often", **old},
        {"action": Action.EVENT_REDRIVE, **old},
    )
    for asked in cases:

        def page(session: Session, asked: dict[str, Any] = asked) -> Any:
            return list_entries(session, chain_id, limit=PAGE, **asked)

        cost = cost_of(database, page)
        assert cost.rows <= 3 * PAGE, (asked, cost.rows, cost.statements)

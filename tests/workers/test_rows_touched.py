"""What the services ask touches rows in proportion to what waits, not to what is completed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from restante.inbox.lifecycle import Gate
from restante.inbox.timers import due_inboxes, oldest_due
from restante.sampling.depths import depths
from restante.signals.sweep import waiting
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.events import agent_inbox
from tests.factories import Mailbox, Tenant
from tests.support.databases import TestDatabase

COMPLETED = 3_000


def touched(database: TestDatabase, work: Callable[[Session], Any]) -> int:
    """Rows and index entries that the statements of `work` read."""

    def count(session: Session) -> int:
        rows = session.connection().execute(text("SHOW SESSION STATUS LIKE 'Handler_read%'"))
        return sum(int(row[1]) for row in rows if row[0] != "Handler_read_rnd_next")

    def counted(session: Session) -> int:
        before = count(session)
        work(session)
        return count(session) - before

    return database.run(counted)


@pytest.fixture
def full(database: TestDatabase, tenant: Tenant) -> list[Mailbox]:
    """Four inboxes with thousands of completed events and a few that wait."""
    agents = [tenant.agent() for _ in range(4)]
    now = database.run(database_now) - timedelta(hours=1)
    for agent in agents:
        rows = [
            {
                "recipient_id": agent.id,
                "sequence_number": 1_000_000 + number,
                "event_id": new_id(),
                "project_id": tenant.projects["p"].id,
                "gate": Gate.COMPLETED,
                "rank": 0,
                "payload_bytes": 1,
                "max_attempts": 5,
                "available_at": now,
                "final_at": now,
            }
            for number in range(COMPLETED // len(agents))
        ]
        database.run(lambda s, rows=rows: s.connection().execute(insert(agent_inbox), rows))
        agent.publish_many([agent.publication(project=slug) for slug in ("p", "q", "p")])
    database.run(lambda s: s.connection().execute(text("ANALYZE TABLE agent_inbox")).all())
    return agents


@pytest.mark.servers_only
def test_services_read_what_waits(
    database: TestDatabase, tenant: Tenant, full: list[Mailbox]
) -> None:
    pairs = {(agent.id, p.id) for agent in full for p in tenant.projects.values()}
    assert touched(database, lambda s: depths(s, b"")) < 150
    assert touched(database, lambda s: waiting(s, pairs)) < 150
    assert touched(database, lambda s: due_inboxes(s, limit=100)) < 20
    assert touched(database, oldest_due) < 20

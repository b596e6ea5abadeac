"""What memory asks of its tables goes by its indexes, however much an agent remembers."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, text

from restante.coordination import memory_rows
from restante.coordination.changes import read_changes
from restante.coordination.memory import Put, Write, write_one
from restante.coordination.state import read_state
from restante.identity.scopes import Verb
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.memory import agent_memory, memory_entry
from tests.architecture.plans import cost_of
from tests.engine.remembering import keeper
from tests.factories import Mailbox, Tenant, make_tenant
from tests.support.databases import TestDatabase

pytestmark = pytest.mark.servers_only
KEYS = 4_000


@pytest.fixture
def tenant(database: TestDatabase) -> Tenant:
    return make_tenant(database)


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    """An agent with thousands of keys in `p`, among others with as many; every tenth is a tombstone."""
    one = keeper(tenant)
    for agent in (one, keeper(tenant)):
        fill(agent)
    with tenant.database.engine.begin() as connection:
        connection.execute(text("ANALYZE TABLE memory_entry"))
    return one


def fill(agent: Mailbox) -> None:
    now = agent.run(database_now)
    rows = [
        {
            "agent_id": agent.id,
            "project_id": agent.tenant.projects["p"].id,
            "key_hash": new_id() * 2,
            "entry_key": f"k{number}",
            "revision": number,
            "value": None if number % 10 == 0 else b"1",
            "value_bytes": 1,
            "updated_at": now,
            "deleted_at": now if number % 10 == 0 else None,
            "writer": agent.agent.public_id,
        }
        for number in range(1, KEYS + 1)
    ]
    made = {"agent_id": agent.id, "tenant_id": agent.tenant.id, "memory_revision": KEYS}
    agent.run(lambda s: s.connection().execute(insert(memory_entry), rows))
    agent.run(lambda s: s.connection().execute(insert(agent_memory), made))


def test_changes_read_what_they_tell(mail: Mailbox) -> None:
    projects = mail.agent.covered(Verb.READ)

    def read(after: int, limit: int) -> int:
        return cost_of(
            mail.database,
            lambda s: read_changes(s, mail.agent, projects, after_revision=after, limit=limit),
        ).rows

    # what is told is looked at twice, and a little ahead
    assert read(KEYS - 10, 1_000) <= 60
    assert read(0, 10) <= 300


def test_a_page_of_the_state_reads_a_page(mail: Mailbox) -> None:
    cost = cost_of(mail.database, lambda s: read_state(s, mail.agent, limit=100, token=None))
    assert cost.rows <= 1_000


def test_a_write_reads_its_key_and_a_new_one_counts(mail: Mailbox) -> None:
    def put(key: str) -> int:
        write = Write(project=mail.tenant.projects["p"], key=key, change=Put(b"2"))
        return cost_of(mail.database, lambda s: write_one(s, mail.agent, mail.id, write)).rows

    first = put("new")
    assert KEYS * 0.9 <= first <= KEYS * 2 + 100  # counted along an index
    assert put("new") <= 20
    assert memory_rows.MOST_KEYS == 10_000

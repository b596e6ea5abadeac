"""What the console asks of a tenant's inboxes costs what is shown, however many agents the tenant has.

Tried before the server has looked at its tables, and after.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import insert, text
from sqlalchemy.orm import Session

from restante.audit.entries import IN_PROCESS
from restante.identity.administrators import Administrator
from restante.identity.roles import Role
from restante.inbox.attention import attention
from restante.inbox.filling import list_filling
from restante.inbox.inbox_narrowing import Which
from restante.inbox.inbox_table import By, list_inboxes
from restante.storage.clock import database_now
from restante.storage.ids import new_id, new_ids
from restante.storage.tables.identity import principal
from restante.storage.tables.inboxes import inbox
from restante.storage.tables.operation import inbox_standing
from tests.architecture.plans import cost_of
from tests.support.databases import TestDatabase

pytestmark = pytest.mark.servers_only
AGENTS = 6_000
PAGE = 20
LINES = 30 * (PAGE + 1)
"""What the rows of a page touch, each with what lies in its inbox."""
LIMITED = 20
"""Agents that have a limit of their own."""
TABLES = (principal, inbox, inbox_standing)
ANALYSE = text(f"ANALYZE TABLE {', '.join(table.name for table in TABLES)}")


@pytest.fixture
def who(database: TestDatabase) -> Administrator:
    """Of a tenant with thousands of agents, two thirds of which hold something, many the same."""
    tenant_id, now = new_id(), database.run(database_now)
    ids = list(enumerate(new_ids(AGENTS)))
    agents: list[dict[str, Any]] = [
        {
            "principal_id": id_,
            "tenant_id": tenant_id,
            "kind": "agent",
            "name": f"agent-{number:05}",
            "created_at": now,
            "paused": number % 1_000 == 1,
            "status": {2: "disabled", 3: "removed"}.get(number % 1_000, "active"),
            "max_pending": 50 if number % (AGENTS // LIMITED) == 0 else None,
        }
        for number, id_ in ids
    ]
    inboxes = [
        {"recipient_id": id_, "tenant_id": tenant_id, "epoch": id_, "unsettled_bound": 1}
        for _, id_ in ids
    ]
    lying = [
        {
            "recipient_id": id_,
            "tenant_id": tenant_id,
            "pending": 1 + number % 5,
            "scheduled": 0,
            "claimed": number % 2,
            "quarantined": number % 7,
            "unsettled": 1 + number % 5,
            "oldest_at": now - timedelta(seconds=number % 100),
        }
        for number, id_ in ids
        if number % 3
    ]
    with database.engine.begin() as connection:
        for table, rows in zip(TABLES, (agents, inboxes, lying), strict=True):
            connection.execute(insert(table), rows)
    return Administrator(tenant_id, IN_PROCESS, role=Role.OPERATOR)


def test_pages_of_inboxes_touch_what_they_show(database: TestDatabase, who: Administrator) -> None:
    cases: list[tuple[str, Callable[[Session], Any], int]] = [
        ("attention", lambda s: attention(s, who), 2 * LINES),
        ("filling", lambda s: list_filling(s, who), 5 * LIMITED + 5 * PAGE),
        (
            "full",
            lambda s: list_inboxes(s, who, limit=PAGE, which=Which.FULL, by=By.PENDING),
            40 * LIMITED,
        ),
    ]
    for few in (Which.PAUSED, Which.DISABLED, Which.REMOVED):
        for by in By:
            page = partial(list_inboxes, administrator=who, limit=PAGE, which=few, by=by)
            cases.append((f"{few} {by}", page, LINES))
    for by in set(By) - {By.SEEN}:
        for backwards in (False, True):
            for which in (None, Which.ACTIVE, Which.AWAY, Which.AWAY_WITH_MAIL):
                page = partial(
                    list_inboxes,
                    administrator=who,
                    limit=PAGE,
                    by=by,
                    backwards=backwards,
                    which=which,
                )
                case = f"{by} {backwards} {which}"
                cases.append((case, page, LINES))
                token = database.run(page).next_page_token
                assert token is not None
                cases.append((f"{case}, on", partial(page, token=token), LINES))
    for looked in ("never", "now"):
        for case, work, most in cases:
            cost = cost_of(database, work)
            assert cost.rows <= most, (looked, case, cost.rows, most, cost.statements)
        database.run(lambda s: s.connection().execute(ANALYSE).all())

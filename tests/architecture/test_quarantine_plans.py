"""What the console asks of a quarantine costs what is shown, however much lies there.

Every page asks whether something burns. Tried before the server has looked at its tables, and after.
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
from restante.inbox import fire
from restante.inbox.triage import causes, trend
from restante.inbox.triage.listing import list_quarantined
from restante.inbox.triage.selection import Filter
from restante.storage.clock import database_now
from restante.storage.ids import new_id, new_ids
from restante.storage.tables.failures import event_failure
from tests.architecture.plans import cost_of
from tests.support.databases import TestDatabase

pytestmark = pytest.mark.servers_only
EVENTS = 6_000
PAGE = 20
LOOK = 150
"""What a few lookups touch."""
RARE = new_id()
"""An inbox and a project that one event in a thousand is of."""


@pytest.fixture
def who(database: TestDatabase) -> Administrator:
    """Of a tenant with a wave of thousands, and a few of two other causes long before it."""
    tenant_id, often, now = new_id(), new_id(), database.run(database_now)
    rows: list[dict[str, Any]] = [
        {
            "event_id": event_id,
            "tenant_id": tenant_id,
            "recipient_id": RARE if number % 1_000 == 0 else often,
            "project_id": RARE if number % 1_000 == 0 else often,
            "code": "E",
            "message": "no",
            "outcome": "none",
            "failed_at": now,
            "attempt": 1,
            "failure_signature": f"{number % 3 if number < 30 else 1:032}",
            "quarantined_at": now - timedelta(milliseconds=100 * (EVENTS - number)),
            "quarantine_reason": "release_loop" if number % 1_000 == 0 else "rejected",
        }
        for number, event_id in enumerate(new_ids(EVENTS))
    ]
    with database.engine.begin() as connection:
        connection.execute(insert(event_failure), rows)
    return Administrator(tenant_id, IN_PROCESS, role=Role.OPERATOR)


def test_what_pages_ask_touches_what_they_show(database: TestDatabase, who: Administrator) -> None:
    rare = (
        Filter(recipient_id=RARE),
        Filter(project_id=RARE),
        Filter(quarantine_reason="release_loop"),
    )
    often = Filter(quarantine_reason="rejected")
    cases: list[tuple[str, Callable[[Session], Any], int]] = [
        # what burns of some, since when, and the whole of it counted
        ("fire", lambda s: fire.fire(s, who), 4 * fire.LOOKED_AT + 2 * EVENTS + LOOK),
        # each cause is counted once, whatever the others are
        ("causes", lambda s: causes.list_groups(s, who, Filter()), 2 * EVENTS + LOOK),
        (
            "causes of a reason",
            lambda s: causes.list_groups(s, who, often),
            3 * causes.LOOKED_AT + LOOK,
        ),
        (
            "trends",
            lambda s: trend.trends(s, who, Filter(), [f"{n:032}" for n in range(3)]),
            3 * trend.LOOKED_AT + LOOK,
        ),
    ]
    cases += [
        (repr(chosen), partial(causes.list_groups, administrator=who, chosen=chosen), LOOK)
        for chosen in rare
    ]
    for chosen in (*rare, often, Filter(), Filter(failure_signature=f"{1:032}")):
        page = partial(list_quarantined, administrator=who, chosen=chosen, limit=PAGE)
        cases.append((f"page of {chosen}", page, LOOK))
    for looked in ("never", "now"):
        for case, work, most in cases:
            cost = cost_of(database, work)
            assert cost.rows <= most, (looked, case, cost.rows, most, cost.statements)
        database.run(lambda s: s.connection().execute(text("ANALYZE TABLE event_failure")).all())

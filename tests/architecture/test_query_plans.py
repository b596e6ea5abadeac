"""Rows touched are in proportion to what is returned, whatever lies around it (see guards.py)."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from restante.inbox.claim import ClaimRequest
from tests.architecture.guards import GUARDS, tried
from tests.architecture.large_inbox import Amounts, Large, fill
from tests.architecture.plans import cost_of, faults, plan
from tests.factories import make_tenant, set_rules
from tests.support.databases import TestDatabase, create_with_tables

pytestmark = [
    pytest.mark.servers_only,
    pytest.mark.timeout(900),
]
SCALE = float(os.environ.get("RESTANTE_PLAN_SCALE", "0.1"))

_made: dict[str, Large] = {}


@pytest.fixture
def large(backend: str, worker_folder: Path, worker_name: str) -> Large:
    if backend not in _made:
        url, engine = create_with_tables(backend, f"restante_{worker_name}_plans", worker_folder)
        _made[backend] = _make(TestDatabase(backend, url, engine))
    large = _made[backend]
    large.mail.database.clock_offset *= 0
    return large


def _make(database: TestDatabase) -> Large:
    set_rules(database, max_pending=100_000_000)
    tenant, amounts = make_tenant(database), Amounts().scaled(SCALE)
    mail, p, q = tenant.agent(), tenant.projects["p"], tenant.projects["q"]
    mail.publish()
    first = mail.take_one()
    with database.engine.connect() as connection:
        fill(connection, mail.id, amounts, project_id=p.id, elsewhere_id=q.id)
    mail.ack(first)
    return Large(mail, amounts, "p")


@pytest.mark.parametrize("verb", GUARDS)
def test_rows_in_proportion(large: Large, verb: str) -> None:
    database = large.mail.database
    for guard in GUARDS[verb](large):
        cost = cost_of(database, guard.work)
        assert cost.statements
        wrong = faults(database.engine, cost, sorts=guard.sorts)
        assert not wrong, (guard.case, wrong)
        assert cost.rows <= guard.rows, (guard.case, cost.rows, cost.statements)


def test_the_claim_itself_goes_by_its_index_and_does_not_sort(large: Large) -> None:
    mail = large.mail
    request = ClaimRequest(projects=tuple(mail.tenant.projects.values()), limit=10)
    cost = cost_of(mail.database, lambda s: tried(s, mail, request))
    locks = [s for s in cost.statements if "SKIP LOCKED" in s]
    assert locks
    for statement in locks:
        (step,) = plan(mail.database.engine, statement)
        assert (step.access, step.key) == ("ref", "claim")
        assert "filesort" not in step.extra
        assert "temporary" not in step.extra


def test_what_retention_leaves_is_read_from_its_floor(large: Large) -> None:
    mail = large.mail
    for guard in GUARDS["retention"](large):
        cost_of(mail.database, guard.work)
    floor = mail.inbox_row().oldest_cursor
    assert floor >= 20
    page = mail.page(limit=1)
    assert orjson.loads(page.events[0])["sequence_number"] == floor + 1

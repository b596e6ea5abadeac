"""Rows touched are in proportion to what is returned, whatever lies around it (see large_inbox.py)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from restante.inbox import retention, timers
from restante.inbox.browse import ReadRequest, read_page
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.commit import commit_through
from restante.inbox.orders import Ack, Order, Release
from restante.inbox.publication import Publication
from restante.inbox.publish import publish, write
from restante.inbox.settle import settle_many
from restante.inbox.stats import stats
from tests.architecture.large_inbox import Large, fill
from tests.architecture.plans import cost_of, faults, plan
from tests.factories import Mailbox, make_tenant, pass_time
from tests.support.databases import TestDatabase, create_with_tables

pytestmark = [
    pytest.mark.servers_only,
    pytest.mark.timeout(900),
]
LOOK = 500
"""Rows that a look at an inbox may touch: it counts up to 110 claimable ones in two projects."""

_made: dict[str, Large] = {}


@pytest.fixture
def large(backend: str, worker_folder: Path, worker_name: str) -> Large:
    if backend not in _made:
        url, engine = create_with_tables(backend, f"restante_{worker_name}_plans", worker_folder)
        _made[backend] = fill(make_tenant(TestDatabase(backend, url, engine)).agent())
    large = _made[backend]
    large.mail.database.clock_offset *= 0
    return large


def check(large: Large, work: Callable[..., object], rows: int, *, sorts: bool = False) -> None:
    database = large.mail.database
    cost = cost_of(database, work)
    assert cost.statements
    wrong = faults(database.engine, cost, sorts=sorts)
    assert not wrong, wrong
    assert cost.rows <= rows, (cost.rows, cost.statements)


def _tried(session: Session, mail: Mailbox, request: ClaimRequest) -> None:
    """Claim, and leave it at that: the inbox stays as large as it is."""
    claim(session, mail.agent, request)
    session.rollback()


def _published(session: Session, mail: Mailbox, many: list[Publication]) -> None:
    publish(session, mail.tenant.service, many)
    write(session)


@pytest.mark.parametrize("limit", [1, 10, 100])
@pytest.mark.parametrize("slugs", ["p", "q", "pq"])
def test_claim(large: Large, limit: int, slugs: str) -> None:
    mail = large.mail
    request = ClaimRequest(
        projects=tuple(mail.tenant.projects[s] for s in slugs), limit=limit, claim_id="n" * 16
    )
    check(large, lambda s: _tried(s, mail, request), LOOK + 8 * limit)


def test_the_claim_itself_goes_by_its_index_and_does_not_sort(large: Large) -> None:
    mail = large.mail
    request = ClaimRequest(projects=tuple(mail.tenant.projects.values()), limit=10)
    cost = cost_of(mail.database, lambda s: _tried(s, mail, request))
    locks = [s for s in cost.statements if "SKIP LOCKED" in s]
    assert locks
    for statement in locks:
        (step,) = plan(mail.database.engine, statement)
        assert (step.access, step.key) == ("ref", "claim")
        assert "filesort" not in step.extra
        assert "temporary" not in step.extra


@pytest.mark.parametrize("limit", [1, 100])
def test_read(large: Large, limit: int) -> None:
    mail = large.mail
    projects = tuple(mail.tenant.projects.values())
    oldest = mail.inbox_row().oldest_cursor  # another test may have moved it
    for after in (None, oldest, large.completed // 2, large.head - 50, large.head):
        request = ReadRequest(projects=projects, after_cursor=after, limit=limit)
        check(large, lambda s, r=request: read_page(s, mail.agent, r), LOOK + 4 * limit)


def test_a_page_of_open_events_ends_after_two_thousand_rows(large: Large) -> None:
    mail = large.mail
    request = ReadRequest(
        projects=tuple(mail.tenant.projects.values()),
        after_cursor=mail.inbox_row().oldest_cursor,
        open_only=True,
    )
    check(large, lambda s: read_page(s, mail.agent, request), LOOK + 2_100)


def test_timers_when_nothing_is_due(large: Large) -> None:
    mail = large.mail
    check(large, lambda s: timers.run_due(s, mail.id), 10)
    check(large, lambda s: timers.due_inboxes(s, limit=100), 10)
    check(large, timers.oldest_due, 10)


def test_timers_when_a_few_are_due(large: Large) -> None:
    mail = large.mail
    taken = mail.take("p", limit=5, lease_seconds=5)
    mail.publish(delay_seconds=3)
    pass_time(mail.database, 6)
    check(large, lambda s: timers.due_inboxes(s, limit=100), 30)
    check(large, timers.oldest_due, 10)
    assert len(taken) == 5
    check(large, lambda s: timers.run_due(s, mail.id), 300, sorts=True)
    # those that wait out their backoff are taken away, so that nothing is due for the next test
    pass_time(mail.database, 6)
    mail.run_due()


def test_settle(large: Large) -> None:
    mail = large.mail
    events = mail.take("p", limit=20)
    orders: list[Order] = [Ack(e.id, e.generation) for e in events[:10]]
    orders += [Release(e.id, e.generation) for e in events[10:]]
    check(large, lambda s: settle_many(s, mail.agent, orders), 400, sorts=True)


def test_publish(large: Large) -> None:
    mail = large.mail
    many = [mail.publication(ordering_key=k) for k in ("new", None, None)]
    check(
        large,
        lambda s: _published(s, mail, many),
        80,
        sorts=True,
    )


def test_commit(large: Large) -> None:
    mail = large.mail
    through = large.completed + 5
    check(large, lambda s: commit_through(s, mail.agent, through, None), LOOK + 200, sorts=True)


def test_stats(large: Large) -> None:
    """Counts end at 10,000 a kind; what is counted is read twice, and scheduled ones by each project."""
    mail = large.mail
    check(large, lambda s: stats(s, mail.agent), LOOK + 12 * 10_001, sorts=True)


def test_retention_when_nothing_is_old(large: Large) -> None:
    mail = large.mail
    check(large, lambda s: retention.raise_floor(s, mail.id), 510)
    check(large, lambda s: retention.archive(s, mail.id), 10)


def test_retention_moves_a_batch(large: Large) -> None:
    mail = large.mail
    old = text(
        "UPDATE agent_inbox SET available_at = available_at - INTERVAL 40 DAY"
        " WHERE recipient_id = :r AND sequence_number <= 20"
    )
    mail.run(lambda s: s.connection().execute(old, {"r": mail.id}))
    check(large, lambda s: retention.raise_floor(s, mail.id), 510)
    check(large, lambda s: retention.archive(s, mail.id), 20 * 12 + 50)
    assert mail.inbox_row().oldest_cursor == 20
    page = mail.page(limit=1)
    assert orjson.loads(page.events[0])["sequence_number"] == 21

"""What a scrape and a sample cost: a scrape nothing that grows, a sample three statements for 200 inboxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

import pytest
from sqlalchemy import event

from restante.sampling import depths
from restante.sampling.depths import Depth
from restante.sampling.samples import ALL, Measure, latest_samples
from tests.factories import Tenant, make_tenant, pass_time
from tests.support.databases import TestDatabase
from workers import sampler
from workers.metrics import Metrics
from workers.sampler import DEEPEST, RESTS, Sampler

AT = datetime(2031, 5, 1)


@pytest.fixture
def tenant(database: TestDatabase) -> Tenant:
    return make_tenant(database)


def many(number: int) -> Iterator[Depth]:
    for n in range(number):
        yield Depth(n.to_bytes(16), b"t" * 16, n, 1 + n % 1_000, 0, 0, 0, AT)


def test_the_figures_of_a_hundred_thousand_inboxes_are_as_many_as_those_of_thirty() -> None:
    few, lots = (sampler._figures(many(number), AT, None) for number in (30, 100_000))
    assert len(few) == len(lots) == DEEPEST + 4
    metrics = Metrics()
    shown = []
    for figures in (few, lots):
        metrics.figures = figures
        shown.append(len(metrics.render().splitlines()))
    assert shown[0] == shown[1]


def statements(database: TestDatabase, one: Sampler) -> list[str]:
    seen: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        kept = "inbox_history." in statement or "inbox_standing." in statement
        # what is kept of them is two lookups a batch of their own
        if not kept and ("recipient_id > " in statement or "recipient_id IN (" in statement):
            seen.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        assert one.run_once()["samples"] > 0
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
    return seen


def test_a_sample_asks_the_same_few_things_for_each_lot_of_inboxes(
    database: TestDatabase, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(6):
        tenant.agent().publish()
    monkeypatch.setattr(depths, "INBOXES", 2)
    monkeypatch.setattr(depths, "_NEXT", depths._NEXT.limit(2))
    seen = statements(database, Sampler(database))
    kinds = Counter(statement.partition("recipient_id IN (")[0] for statement in seen)
    assert sorted(kinds.values()) == [3, 3, 4]  # which are next, and twice what lies in two of them


def test_a_sampler_with_very_many_inboxes_rests_nine_times_as_long(database: TestDatabase) -> None:
    one = Sampler(database)
    assert one.next_pause(0.01) < 2 * one.pause_seconds
    assert one.next_pause(60.0) == RESTS * 60.0


def test_the_age_of_a_sample_is_told(database: TestDatabase, tenant: Tenant) -> None:
    assert b"\nsample_age_seconds " not in Metrics().render()
    tenant.agent().publish()
    Sampler(database).run_once()
    pass_time(database, 100)
    figures = database.run(latest_samples)
    assert 99 < figures[ALL, Measure.SAMPLE_AGE] < 140
    metrics = Metrics()
    metrics.figures = figures
    metrics._read_at -= 50
    (line,) = [li for li in metrics.render().splitlines() if li.startswith(b"sample_age_seconds ")]
    assert 149 < float(line.split()[1]) < 190

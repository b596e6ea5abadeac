"""A tenant's figures over time: processes add, the sampler says, and points are made of what is there."""

from __future__ import annotations

from datetime import timedelta

from restante.audit.entries import IN_PROCESS
from restante.identity.administrators import Administrator
from restante.identity.operators import invite
from restante.identity.roles import Role
from restante.inbox.orders import Reject
from restante.observations import ON_OBSERVED
from restante.sampling.history import HALF_HOUR, KEPT, MINUTE, read_history
from restante.sampling.series import RANGES, last_hour, series
from restante.sampling.tally import Tally
from restante.storage.clock import database_now
from tests.factories import Mailbox, Tenant, make_tenant, pass_time
from tests.support.databases import TestDatabase
from workers.history import History
from workers.pruner import Pruner
from workers.sampler import Sampler


def operator_of(tenant: Tenant) -> Administrator:
    who = tenant.database.run(
        lambda s: invite(s, tenant.id, email="o@example.com", role=Role.OPERATOR)
    )
    return Administrator.of_operator(who, IN_PROCESS, anew=False)


def work(mail: Mailbox, *, acked: int, rejected: int = 0) -> None:
    mail.publish_many([mail.publication() for _ in range(acked + rejected)])
    for number, event in enumerate(mail.take(limit=acked + rejected)):
        if number < acked:
            mail.ack(event)
        else:
            mail.settle(Reject(event.id, event.generation, "no"))


def test_what_happens_is_added_up_by_tenant_and_shown_as_points(database: TestDatabase) -> None:
    ours, theirs = make_tenant(database), make_tenant(database)
    tally = Tally()
    database.info[ON_OBSERVED] = tally.observe
    service, sampler, who = History(database, tally), Sampler(database), operator_of(ours)
    one, two, foreign = ours.agent(), ours.agent(), theirs.agent()
    one.publish()
    sampler.run_once()
    pass_time(database, 120)
    work(one, acked=3)
    service.run_once()
    work(two, acked=2, rejected=1)  # another process adds to the same minute
    work(foreign, acked=7)
    service.run_once()
    assert service.run_once() == {"inboxes": 0}
    two.publish()
    assert two.take(limit=1, lease_seconds=1)
    pass_time(database, 20)
    sampler.run_once()
    hour = database.run(lambda s: last_hour(s, who))
    assert (sum(hour.delivered), hour.quarantinings) == (5, 1)
    now = database.run(database_now)
    since = now - timedelta(hours=1)
    for span_seconds in (MINUTE, HALF_HOUR):
        slots = database.run(
            lambda s, span=span_seconds: read_history(s, ours.id, span_seconds=span, since=since)
        )
        assert sum(sum(slot.counts.delivered) for slot in slots) == 5
        last = slots[-1].standing
        assert last is not None
        assert (last.pending, last.quarantined, last.arrived) == (1, 1, 8)
    points = database.run(lambda s: series(s, who, RANGES["1h"]))
    assert len(points) == 60
    assert sum(point.quarantinings for point in points) == 1
    assert points[-1].p50_ms is None or points[-1].p50_ms >= 0
    assert sum(round(point.arrivals or 0) for point in points) == 8
    for name, wanted in RANGES.items():
        some = database.run(lambda s, one=wanted: series(s, who, one))
        assert len(some) == wanted.length // wanted.step, name
        assert sum(point.quarantinings for point in some) == 1, name


def test_the_first_burst_of_a_tenant_is_shown_and_what_nobody_counted_is_not(
    database: TestDatabase,
) -> None:
    sampler = Sampler(database)
    quick, quiet, unseen = (make_tenant(database) for _ in range(3))
    unseen.agent().publish()
    mail = quiet.agent()
    pass_time(database, days=32)
    for hours in (7, 0.25):  # of `unseen` nobody can say when its mail came; `quiet` has none yet
        sampler.run_once()
        pass_time(database, hours * 3600)
    mail.publish_many([mail.publication() for _ in range(5)])
    other = quick.agent()  # the first inbox of its tenant, and its mail before any sample
    other.publish_many([other.publication() for _ in range(4)])
    sampler.run_once()
    for tenant, came in ((quick, 4), (quiet, 5), (unseen, 0)):
        who = operator_of(tenant)
        for name, wanted in RANGES.items():
            points = database.run(lambda s, o=who, w=wanted: series(s, o, w))
            arrived = sum(point.arrivals or 0 for point in points)
            assert (arrived > 0) is (came > 0), (name, came)
            assert name != "1h" or round(arrived) == came


def test_history_is_kept_for_a_day_by_minutes_and_for_a_month_by_half_hours(
    database: TestDatabase,
) -> None:
    mail = make_tenant(database).agent()
    mail.publish()
    Sampler(database).run_once()
    began = database.run(database_now) - timedelta(hours=1)

    def kept() -> list[int]:
        return [
            len(
                database.run(
                    lambda s, span=span: read_history(
                        s, mail.tenant.id, span_seconds=span, since=began
                    )
                )
            )
            for span in KEPT
        ]

    assert kept() == [1, 1]
    pass_time(database, days=1.2)
    Pruner(database).run_once()
    assert kept() == [0, 1]
    pass_time(database, days=31)
    Pruner(database).run_once()
    assert kept() == [0, 0]

"""The maintenance does for inboxes that nobody looks at what a look would do, in any number of copies."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

from sqlalchemy import func, insert, select

from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack
from restante.observations import ON_OBSERVED
from restante.sampling.samples import ALL, SLOT_SECONDS, Measure, latest_samples
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.pruning import ROWS, prune
from restante.storage.tables.keys import claim_record
from tests.factories import Mailbox, Tenant, pass_time, set_rules
from tests.support.databases import TestDatabase
from tests.support.waiting import wait_until
from workers.maintenance import LOCK_FILE, Maintenance, maintenance_services
from workers.metrics import Metrics
from workers.pruner import Pruner
from workers.retention import Retention
from workers.run_folder import HostLock
from workers.sampler import DEEPEST, Sampler
from workers.service import Services
from workers.timers import Timers


def test_lease_ends_delays_expiries_and_schedules_are_run(
    database: TestDatabase, tenant: Tenant
) -> None:
    leased, delayed, expiring, scheduled = (tenant.agent() for _ in range(4))
    first = leased.publish(max_attempts=1)
    leased.take_one(lease_seconds=10)
    second = delayed.publish()
    delayed.release(delayed.take_one(), delay=10)
    third = expiring.publish(expires_in_seconds=10.0)
    fourth = scheduled.publish(delay_seconds=10.0)
    timers = Timers(database)
    assert timers.run_once() == {"inboxes": 0, "moved": 0, "failed": 0, "more": 0}
    pass_time(database, 11)
    assert timers.run_once() == {"inboxes": 4, "moved": 4, "failed": 0, "more": 0}
    assert leased.gate(first.event_id) is Gate.QUARANTINED
    assert delayed.gate(second.event_id) is Gate.CLAIMABLE
    assert expiring.gate(third.event_id) is Gate.EXPIRED
    assert scheduled.gate(fourth.event_id) is Gate.CLAIMABLE
    assert timers.run_once()["inboxes"] == 0


def test_two_copies_at_once_move_each_event_once(database: TestDatabase, tenant: Tenant) -> None:
    agents = [tenant.agent() for _ in range(10)]
    for agent in agents:
        agent.publish_many([agent.publication(delay_seconds=5.0) for _ in range(10)])
    pass_time(database, 6)
    moved: list[int] = []

    def maintain() -> None:
        copy = Timers(database)
        while (did := copy.run_once())["inboxes"]:
            moved.append(did["moved"])

    copies = [threading.Thread(target=maintain) for _ in range(2)]
    for copy in copies:
        copy.start()
    for copy in copies:
        copy.join(60)
    assert sum(moved) == 100
    for agent in agents:
        assert agent.inbox_row().head == 10
        assert len(agent.take(limit=20)) == 10


def test_retention_goes_round_all_inboxes(database: TestDatabase, tenant: Tenant) -> None:
    set_rules(database, retention_seconds=60)
    agents = [tenant.agent() for _ in range(3)]
    for agent in agents:
        agent.publish()
        agent.ack(agent.take_one())
    retention = Retention(database)
    assert retention.run_once()["archived"] == 0
    pass_time(database, 61)
    did = retention.run_once()
    assert (did["inboxes"], did["archived"], did["failed"], did["more"]) == (3, 3, 0, 0)
    assert all(agent.inbox_row().oldest_cursor == 1 for agent in agents)


def test_old_records_are_deleted_in_bounded_batches(database: TestDatabase) -> None:
    now = database.run(database_now)
    rows = [
        {"recipient_id": b"r" * 16, "claim_ref": n.to_bytes(16), "created_at": now}
        for n in range(ROWS + 10)
    ]

    database.run(lambda session: session.connection().execute(insert(claim_record), rows))
    pruner = Pruner(database)
    assert pruner.run_once()["claim_record"] == 0
    pass_time(database, days=2.1)
    assert pruner.run_once()["claim_record"] >= ROWS
    pruner.run_once()
    count = select(func.count()).select_from(claim_record)
    assert database.run(lambda s: s.connection().execute(count).scalar_one()) == 0


def test_pruning_ends_at_an_instant(database: TestDatabase) -> None:
    now = database.run(database_now)
    rows = [
        {
            "recipient_id": b"r" * 16,
            "claim_ref": n.to_bytes(16),
            "created_at": now + timedelta(seconds=n),
        }
        for n in range(5)
    ]
    database.run(lambda s: s.connection().execute(insert(claim_record), rows))
    pass_time(database, 3.5)
    kept = timedelta(seconds=1.5)
    assert database.run(lambda s: prune(s, claim_record.c.created_at, kept)) in (2, 3)


def test_a_sample_is_taken_once_a_slot(database: TestDatabase, tenant: Tenant) -> None:
    deep, shallow, empty = tenant.agent(), tenant.agent(), tenant.agent()
    deep.publish_many([deep.publication(project=p) for p in ("p", "q", "p")])
    shallow.publish()
    pass_time(database, 100)
    late = shallow.publish()
    shallow.take_one(lease_seconds=10)
    assert late.event_id
    pass_time(database, 30)
    # from the beginning of a slot on, so that none ends between the two looks
    pass_time(database, SLOT_SECONDS - database.run(database_now).second % SLOT_SECONDS)
    sampler, other = Sampler(database), Sampler(database)
    assert sampler.run_once()["samples"] > 0
    assert other.run_once() == {"samples": 0}
    figures = database.run(latest_samples)
    assert figures[ALL, Measure.PENDING] == 4
    assert figures[encode_id(Prefix.AGENT, deep.id), Measure.PENDING] == 3
    assert figures[encode_id(Prefix.AGENT, shallow.id), Measure.PENDING] == 1
    assert (encode_id(Prefix.AGENT, empty.id), Measure.PENDING) not in figures
    assert figures[ALL, Measure.DEPTH_OF_THE_REST] == 0
    assert 129 < figures[ALL, Measure.OLDEST_PENDING_AGE] < 160
    assert 19 < figures[ALL, Measure.OLDEST_TIMER_AGE] < 50
    pass_time(database, SLOT_SECONDS)
    assert other.run_once()["samples"] > 0


def test_the_deepest_are_named_and_the_rest_summed(database: TestDatabase, tenant: Tenant) -> None:
    agents = [tenant.agent() for _ in range(DEEPEST + 3)]
    first = agents[0]
    first.publish_many([first.publication(recipients=tuple(a.id for a in agents))])
    first.publish()
    Sampler(database).run_once()
    figures = database.run(latest_samples)
    named = {scope for scope, _ in figures if scope != ALL}
    assert len(named) == DEEPEST
    assert encode_id(Prefix.AGENT, first.id) in named
    assert figures[ALL, Measure.DEPTH_OF_THE_REST] == 3
    text = Metrics()
    text.figures = figures
    assert b'inbox_depth_per_agent{agent="rest"} 3.0' in text.render()


def test_what_verbs_notice_is_counted(database: TestDatabase, mail: Mailbox) -> None:
    metrics = Metrics()
    before = _figures(metrics)
    database.info[ON_OBSERVED] = metrics.observe
    mail.publish_many([mail.publication(max_attempts=2) for _ in range(3)])
    first, second, third = mail.take(limit=3, lease_seconds=10)
    mail.ack(first)
    mail.reject(second)
    pass_time(database, 11)
    mail.run_due()
    pass_time(database, 10)
    again = mail.take_one()
    assert again.id == third.id
    mail.settle(Ack(third.id, 1))
    grown = {k: v - before.get(k, 0) for k, v in _figures(metrics).items() if v != before.get(k, 0)}
    assert grown['claims_total{kind="first"}'] == 3
    assert grown['claims_total{kind="again"}'] == 1
    assert grown["lease_expirations_total"] == 1
    assert grown['attempts_failed_total{cause="rejected"}'] == 1
    assert grown['attempts_failed_total{cause="lease_expired"}'] == 1
    assert grown['quarantined_total{reason="rejected"}'] == 1
    assert grown['stale_settles_total{reason="reclaimed",verb="ack"}'] == 1
    assert grown["delivery_latency_ms_count"] == 1
    assert grown["completion_seconds_count"] == 1


def _figures(metrics: Metrics) -> dict[str, float]:
    lines = metrics.render().decode().splitlines()
    return {
        name: float(amount)
        for name, _, amount in (li.rpartition(" ") for li in lines if li[0] != "#")
    }


def test_one_process_of_a_host_maintains_until_it_ends(
    database: TestDatabase, tmp_path: Path
) -> None:
    lock = HostLock(tmp_path / LOCK_FILE)
    assert lock.take()
    waiting = Maintenance(database, tmp_path)
    waiting.start()
    assert not waiting._runs
    lock.free()
    wait_until(lambda: waiting._runs, "the lock to be taken over")
    assert not HostLock(tmp_path / LOCK_FILE).take()
    waiting.stop()
    assert HostLock(tmp_path / LOCK_FILE).take()


def test_one_pass_of_everything(database: TestDatabase, mail: Mailbox) -> None:
    mail.publish(delay_seconds=1.0)
    pass_time(database, 2)
    did = Services(maintenance_services(database)).run_once()
    assert did["timers"]["moved"] == 1
    assert set(did) >= {"timers", "retention", "pruner", "sampler", "key_rotation"}

"""Rings from other hosts, and rings again while something waits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from restante.identity.tokens import Claims
from restante.signals.echoes import Echoes
from restante.signals.rings import ON_RING, Ring
from restante.signals.streams import Stream, Streams
from tests.factories import Mailbox, pass_time
from tests.support.databases import TestDatabase
from tests.workers.conftest import Clock
from workers import sweeper as sweeper_module
from workers.sweeper import Sweeper
from workers.tailing import PLACE_EVERY, Tailing

Subscribe = Callable[[Mailbox], Stream[Claims]]


def test_what_another_host_has_committed_rings_here(
    database: TestDatabase, streams: Streams[Claims], subscribe: Subscribe, mail: Mailbox
) -> None:
    tailing = Tailing(database, streams.hub, Echoes(streams.hub.listens))
    stream = subscribe(mail)
    tailing.run_once()
    mail.publish()  # this database rings nobody
    assert not stream.rung
    assert tailing.run_once() == {"read": 1, "rung": 1, "more": 0}
    assert stream.take()
    assert stream.head == 1


def test_what_was_committed_before_the_tailer_had_its_place_rings(
    database: TestDatabase, streams: Streams[Claims], subscribe: Subscribe, mail: Mailbox
) -> None:
    """A worker listens before its tailer has looked where the table ends. No time passes here."""
    tailing = Tailing(database, streams.hub, Echoes(streams.hub.listens))
    sweeper = Sweeper(database, streams)
    stream, idle = subscribe(mail), subscribe(mail.tenant.agent())
    held = streams.hub.listen(mail.id, stream.project_ids)  # a call: nothing sweeps it
    mail.publish()  # by another host, after the first look of both
    assert sweeper.run_once()["swept"] == 0
    assert tailing.run_once() == {"read": 0, "rung": 0, "more": 0}
    assert held.take()
    assert sweeper.run_once() == {"swept": 2, "rung": 1, "more": 0}
    assert stream.take()
    assert not idle.rung
    assert sweeper.run_once()["swept"] == 0


def test_what_was_committed_before_the_table_began_anew_rings(
    database: TestDatabase, streams: Streams[Claims], subscribe: Subscribe, mail: Mailbox
) -> None:
    tailing = Tailing(database, streams.hub, Echoes(streams.hub.listens))
    sweeper = Sweeper(database, streams)
    mail.publish()
    tailing.run_once()
    tailing._tailer._last = 2**60
    stream = subscribe(mail)
    tailing.passes = PLACE_EVERY
    mail.publish()
    assert tailing.run_once()["rung"] == 0
    sweeper.run_once()
    assert stream.take()
    mail.publish()
    assert tailing.run_once()["rung"] == 1


def test_a_doubt_that_comes_while_the_sweep_looks_is_not_lost(
    database: TestDatabase,
    streams: Streams[Claims],
    subscribe: Subscribe,
    mail: Mailbox,
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = subscribe(mail)
    looked = sweeper_module.waiting

    def interrupted(*given: Any) -> Any:
        found = looked(*given)
        streams.hub.doubt()
        return found

    clock.now += 2
    monkeypatch.setattr(sweeper_module, "waiting", interrupted)
    assert Sweeper(database, streams).run_once() == {"swept": 1, "rung": 0, "more": 0}
    monkeypatch.setattr(sweeper_module, "waiting", looked)
    mail.publish()
    assert Sweeper(database, streams).run_once() == {"swept": 1, "rung": 1, "more": 0}
    assert stream.take()


def test_what_was_rung_directly_is_not_rung_again(
    database: TestDatabase, streams: Streams[Claims], subscribe: Subscribe, mail: Mailbox
) -> None:
    hub, echoes = streams.hub, Echoes(streams.hub.listens)
    tailing = Tailing(database, hub, echoes)
    database.info[ON_RING] = hub.ring_many
    hub.forward = echoes.heard
    stream = subscribe(mail)
    tailing.run_once()
    mail.publish()
    assert stream.take()
    assert tailing.run_once() == {"read": 1, "rung": 0, "more": 0}
    assert not stream.rung


def test_the_sweep_rings_with_growing_pauses_until_it_is_taken(
    database: TestDatabase,
    streams: Streams[Claims],
    subscribe: Subscribe,
    mail: Mailbox,
    clock: Clock,
) -> None:
    sweeper = Sweeper(database, streams)
    stream = subscribe(mail)
    mail.publish()
    streams.hub.ring_many([Ring(mail.id, mail.tenant.projects["p"].id, 1)])
    assert stream.take()
    rings = 0
    for _ in range(200):
        clock.now += 1
        sweeper.run_once()
        rings += stream.take()
    assert 7 <= rings <= 11  # after 1, 2, 4, 8, 16, 32, 60, 60 seconds, a fifth less or more
    mail.take_one()
    clock.now += 120
    sweeper.run_once()
    assert not stream.rung


def test_a_lost_ring_is_made_good_within_a_minute(
    database: TestDatabase,
    streams: Streams[Claims],
    subscribe: Subscribe,
    mail: Mailbox,
    clock: Clock,
) -> None:
    sweeper = Sweeper(database, streams)
    stream = subscribe(mail)
    for _ in range(120):
        clock.now += 1
        sweeper.run_once()
    assert not stream.rung
    mail.publish()
    event = mail.take_one()  # gone already: a cursor reader must hear of it all the same
    mail.ack(event)
    clock.now += 60
    sweeper.run_once()
    assert stream.take()
    assert stream.head == 1


def test_a_timer_that_nobody_runs_rings(
    database: TestDatabase,
    streams: Streams[Claims],
    subscribe: Subscribe,
    mail: Mailbox,
    clock: Clock,
) -> None:
    sweeper = Sweeper(database, streams)
    mail.publish()
    mail.take_one(lease_seconds=30)
    stream = subscribe(mail)
    stream.head = 1
    clock.now += 60
    sweeper.run_once()
    assert not stream.rung
    pass_time(database, 31)
    clock.now += 60
    sweeper.run_once()
    assert stream.take()

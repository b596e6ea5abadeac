"""Writes of one agent's memory stand in one line; those it is told of share its inbox's row with publish."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from sqlalchemy.orm import Session

from restante.coordination import changes, memory_rows
from restante.coordination.changes import read_changes
from restante.coordination.entries import Entry, Expect
from restante.coordination.memory import Delete, Put, Write, write_one
from restante.coordination.tombstones import forget_tombstones, raise_memory_floor
from restante.coordination.turn import Turn, take_turn
from restante.errors import CursorGone, VersionConflict
from restante.identity.principal import Principal
from restante.identity.scopes import Verb
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack
from restante.inbox.publish import publish
from tests.engine.remembering import delete, get, keeper, put, scribe, since, version
from tests.factories import Event, Mailbox, Tenant, pass_time, set_rules
from tests.races.players import Player, at_once, stop_after, stop_before
from tests.races.verbs import later, scavenging

pytestmark = pytest.mark.servers_only


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    return keeper(tenant)


def putting(
    mail: Mailbox, key: str, value: Any = 1, *, by: Principal | None = None, **told: Any
) -> Callable[[Session], Entry]:
    write = Write(
        project=mail.tenant.projects["p"], key=key, change=Put(orjson.dumps(value)), **told
    )
    return lambda session: write_one(session, by or mail.agent, mail.id, write)


def deleting(mail: Mailbox, key: str, **told: Any) -> Callable[[Session], Entry]:
    write = Write(project=mail.tenant.projects["p"], key=key, change=Delete(), **told)
    return lambda session: write_one(session, mail.agent, mail.id, write)


def turning(mail: Mailbox, **parts: Any) -> Callable[[Session], Any]:
    return lambda session: take_turn(session, mail.agent, Turn(**parts))


def test_two_writers_of_one_key(mail: Mailbox) -> None:
    put(mail, "k", 0)
    first = Player(mail.database, putting(mail, "k", 1, expect=version(1)), holding=True)
    second = Player(mail.database, putting(mail, "k", 2, expect=version(1)))
    second.wait_until_blocked()
    assert first.commit().version == 2
    with pytest.raises(VersionConflict) as refused:
        second.answer()
    assert refused.value.members == {"current_version": 2}
    assert get(mail, "k").value == b"1"


def test_the_first_writer_rolled_back(mail: Mailbox) -> None:
    put(mail, "k", 0)
    first = Player(mail.database, putting(mail, "k", 1, expect=version(1)), holding=True)
    second = Player(mail.database, putting(mail, "k", 2, expect=version(1)))
    second.wait_until_blocked()
    first.roll_back()
    assert second.answer().version == 2


def test_two_first_writes_of_an_agent(mail: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no row yet to stand in line for: one makes it, the other looks again."""
    with stop_before(monkeypatch, memory_rows, "insert") as stop:
        late = Player(mail.database, putting(mail, "a"))
        stop.wait_until_reached()
        assert put(mail, "b").version == 1
        stop.let_go()
        assert late.answer().version == 2
    assert late.tries == 2


def test_one_of_those_who_would_make_a_key_does(mail: Mailbox) -> None:
    absent = Expect(present=False)
    outcomes = at_once(mail.database, [putting(mail, "k", n, expect=absent) for n in range(6)])
    made = [outcome for outcome in outcomes if isinstance(outcome, Entry)]
    assert len(made) == 1
    assert all(isinstance(o, VersionConflict) for o in outcomes if not isinstance(o, Entry))
    assert get(mail, "k").value == made[0].value


@pytest.mark.parametrize("first", ["put", "delete"])
def test_put_and_delete(mail: Mailbox, first: str) -> None:
    put(mail, "k", 0)
    works = [putting(mail, "k", 1), deleting(mail, "k")]
    if first == "delete":
        works.reverse()
    one = Player(mail.database, works[0], holding=True)
    two = Player(mail.database, works[1])
    two.wait_until_blocked()
    assert [one.commit().version, two.answer().version] == [2, 3]
    ((key, value, revision),) = [(e.key, e.value, e.version) for e in since(mail).entries]
    assert (key, value, revision) == ("k", None if first == "put" else b"1", 3)


def test_revision_order_is_commit_order(mail: Mailbox) -> None:
    """A reader never finds, later, an entry at or below what it has seen."""
    put(mail, "a")
    holder = Player(mail.database, putting(mail, "b"), holding=True)
    other = Player(mail.database, putting(mail, "c"))
    other.wait_until_blocked()
    assert since(mail).revision == 1
    holder.commit()
    other.answer()
    assert [e.key for e in since(mail, 1).entries] == ["b", "c"]


def test_a_write_that_is_told_and_a_fan_out_to_the_same_agents(tenant: Tenant) -> None:
    agents = [keeper(tenant) for _ in range(4)]
    service, everybody = scribe(tenant), [agent.id for agent in agents]
    for agent in agents:
        put(agent, "k")

    def fan_out(session: Session) -> Any:
        publication = agents[0].publication(recipients=tuple(everybody))
        return publish(session, tenant.service, [publication])

    for _ in range(3):
        works: list[Callable[[Session], Any]] = [fan_out, fan_out]
        works += [putting(agent, "k", 2, by=service) for agent in agents]
        works += [putting(agents[0], "k", 3), turning(agents[1], publish=[agents[0].publication()])]
        for outcome in at_once(agents[0].database, works):
            assert not isinstance(outcome, Exception), outcome
    for agent in agents:
        events = [orjson.loads(text) for text in agent.page(limit=100).events]
        numbers = [e["sequence_number"] for e in events]
        assert numbers == list(range(1, len(events) + 1))
        told = [e["payload"]["version"] for e in events if e["type"] == "memory_update"]
        assert told == sorted(told)
        assert len(told) == 3


def test_an_own_write_waits_for_no_publisher(mail: Mailbox) -> None:
    put(mail, "k")
    publisher = Player(
        mail.database, lambda s: publish(s, mail.tenant.service, [mail.publication()]), holding=True
    )
    assert Player(mail.database, putting(mail, "k", 2)).answer().version == 2
    publisher.commit()


def held(mail: Mailbox) -> Event:
    mail.publish()
    return mail.take_one(lease_seconds=60)


def test_a_turn_and_the_scavenger_the_turn_first(mail: Mailbox) -> None:
    event = held(mail)
    put(mail, "k")
    turn = turning(
        mail,
        ack=[Ack(event.id, event.generation)],
        memory=[Write(project=mail.tenant.projects["p"], key="k", change=Put(b"2"))],
        publish=[mail.publication()],
    )
    player = Player(mail.database, turn, holding=True)
    scavenger = Player(later(mail, 61).database, scavenging(mail, nowait=True))
    scavenger.answer()
    player.commit()
    assert mail.gate(event.id) is Gate.COMPLETED
    assert get(mail, "k").value == b"2"


def test_a_turn_and_the_scavenger_the_scavenger_first(mail: Mailbox) -> None:
    event = held(mail)
    late = later(mail, 61)
    scavenger = Player(late.database, scavenging(mail), holding=True)
    turn = turning(
        late,
        ack=[Ack(event.id, event.generation)],
        memory=[Write(project=mail.tenant.projects["p"], key="k", change=Put(b"2"))],
    )
    player = Player(late.database, turn)
    scavenger.commit()
    with pytest.raises(Exception, match="turn cannot be done"):
        player.answer()
    assert since(mail).entries == []
    assert mail.gate(event.id) is not Gate.COMPLETED


def test_two_turns_of_one_event_make_its_follow_ups_once(mail: Mailbox) -> None:
    event = held(mail)
    turn = turning(mail, ack=[Ack(event.id, event.generation)], publish=[mail.publication()])
    outcomes = at_once(mail.database, [turn] * 4)
    assert sum(not isinstance(outcome, Exception) for outcome in outcomes) == 1
    assert mail.inbox_row().head == 2


def test_turns_that_publish_to_each_other(tenant: Tenant) -> None:
    """Opposite directions, keys and memory: whoever meets a deadlock tries again unseen."""
    one, two = keeper(tenant), keeper(tenant)
    for _ in range(4):
        works = []
        for agent, other in ((one, two), (two, one)):
            event = held(agent)
            works.append(
                turning(
                    agent,
                    ack=[Ack(event.id, event.generation)],
                    memory=[Write(project=tenant.projects["p"], key="k", change=Put(b"1"))],
                    publish=[
                        other.publication(ordering_key="o"),
                        agent.publication(ordering_key="o"),
                    ],
                )
            )
        for outcome in at_once(one.database, works):
            assert not isinstance(outcome, Exception), outcome
        for agent in (one, two):
            while events := agent.take(limit=50):
                for event in events:
                    agent.ack(event)


def test_a_reader_between_the_floor_and_the_rows_is_told(
    mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_rules(mail.database, retention_seconds=60)
    put(mail, "k")
    delete(mail, "k")
    pass_time(mail.database, 61)
    with stop_after(monkeypatch, changes, "memory_at") as stop:
        reader = Player(
            mail.database,
            lambda s: read_changes(
                s, mail.agent, mail.agent.covered(Verb.READ), after_revision=1, limit=10
            ),
        )
        stop.wait_until_reached()
        mail.run(lambda s: raise_memory_floor(s, mail.id))
        assert mail.run(lambda s: forget_tombstones(s, mail.id)) == 1
        stop.let_go()
        with pytest.raises(CursorGone):
            reader.answer()


def test_a_tombstone_that_is_going_and_a_put(mail: Mailbox) -> None:
    set_rules(mail.database, retention_seconds=60)
    put(mail, "k")
    delete(mail, "k")
    pass_time(mail.database, 61)
    mail.run(lambda s: raise_memory_floor(s, mail.id))
    forgetting = Player(mail.database, lambda s: forget_tombstones(s, mail.id), holding=True)
    putter = Player(mail.database, putting(mail, "k", 2))
    putter.wait_until_blocked()
    assert forgetting.commit() == 1
    assert putter.answer().version == 3
    assert get(mail, "k").value == b"2"

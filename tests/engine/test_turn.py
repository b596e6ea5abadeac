"""A turn: settle, memory and publish together, all or nothing (contract 5.7)."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from restante.coordination import memory_rows
from restante.coordination.entries import Expect
from restante.coordination.memory import Delete, Put, Write
from restante.coordination.turn import Turn, Turned, require_scopes, take_turn
from restante.errors import (
    InboxFull,
    InsufficientScope,
    NotFound,
    RecipientRefused,
    StaleClaim,
    TooManyMemoryKeys,
    TurnConflict,
    VersionConflict,
)
from restante.identity.scopes import Verb
from restante.inbox.failures import Failure
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack, Reject, Release
from restante.storage.ids import new_id
from tests.engine.remembering import get, keeper, put, since, version
from tests.engine.snapshot import snapshot
from tests.factories import Event, Mailbox, Tenant, make_tenant, pass_time


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    return keeper(tenant)


def take(mail: Mailbox, **parts: Any) -> Turned:
    return mail.run(lambda session: take_turn(session, mail.agent, Turn(**parts)))


def writes(mail: Mailbox, key: str, value: Any = 1, **told: Any) -> Write:
    change = Delete(must_be_there=False) if value is None else Put(orjson.dumps(value))
    return Write(project=mail.tenant.projects["p"], key=key, change=change, **told)


def held(mail: Mailbox, events: int = 1, **said: Any) -> list[Event]:
    for _ in range(events):
        mail.publish(**said)
    return mail.take(limit=events)


def test_an_answer_its_follow_up_and_what_was_learnt(mail: Mailbox, tenant: Tenant) -> None:
    other = tenant.agent()
    one, two, three = held(mail, 3)
    put(mail, "old")
    done = take(
        mail,
        ack=[Ack(one.id, one.generation, b'{"n":1}')],
        release=[Release(two.id, two.generation, 30.0, Failure("down", "no"))],
        reject=[Reject(three.id, three.generation, "nonsense")],
        memory=[writes(mail, "k", {"a": 1}), writes(mail, "old", None)],
        publish=[mail.publication(), other.publication(recipients=(other.id, mail.id))],
    )
    assert [
        [answer["status"] for answer in part] for part in (done.ack, done.release, done.reject)
    ] == [
        ["completed"],
        ["pending"],
        ["quarantined"],
    ]
    assert [(e.key, e.value, e.version) for e in done.memory] == [
        ("k", b'{"a":1}', 2),
        ("old", None, 3),
    ]
    assert [(e.recipient_id, e.sequence_number) for e in done.publish] == [
        (mail.id, 4),
        (other.id, 1),
        (mail.id, 5),
    ]
    assert [mail.gate(e.id) for e in (one, two, three)] == [
        Gate.COMPLETED,
        Gate.DELAYED,
        Gate.QUARANTINED,
    ]
    assert get(mail, "k").value == b'{"a":1}'
    # what the agent writes itself it is not told of
    assert mail.inbox_row().head == 5


@pytest.mark.parametrize("parts", [{}, {"memory": "k"}, {"publish": True}, {"ack": True}])
def test_every_part_may_be_left_out(mail: Mailbox, parts: dict[str, Any]) -> None:
    (event,) = held(mail)
    told: dict[str, Any] = {}
    if "memory" in parts:
        told["memory"] = [writes(mail, "k")]
    if "publish" in parts:
        told["publish"] = [mail.publication()]
    if "ack" in parts:
        told["ack"] = [Ack(event.id, event.generation)]
    done = take(mail, **told)
    assert [len(done.ack), len(done.memory), len(done.publish)] == [
        int(name in parts) for name in ("ack", "memory", "publish")
    ]


def test_whatever_part_is_refused_nothing_is_done(mail: Mailbox, tenant: Tenant) -> None:
    foreign = make_tenant(mail.database).agent()
    one, two = held(mail, 2)
    put(mail, "k")
    good: dict[str, list[Any]] = {
        "ack": [Ack(one.id, one.generation)],
        "release": [],
        "reject": [],
        "memory": [writes(mail, "new"), writes(mail, "k", 2)],
        "publish": [mail.publication()],
    }
    bad: list[tuple[str, Any, type[Exception]]] = [
        ("ack", Ack(two.id, two.generation + 1), StaleClaim),
        ("ack", Ack(new_id(), 1), NotFound),
        ("release", Release(two.id, two.generation - 1), StaleClaim),
        ("reject", Reject(new_id(), 1, "no"), NotFound),
        ("memory", writes(mail, "k2", expect=version(1)), VersionConflict),
        ("memory", writes(mail, "k3", expect=Expect(present=True)), VersionConflict),
        ("publish", foreign.publication(), RecipientRefused),
        ("publish", mail.publication(reply_to=new_id()), RecipientRefused),
    ]
    before = snapshot(mail.database)
    for part, order, error in bad:
        parts = {**good, part: [*good[part], order]}
        with pytest.raises(TurnConflict) as conflict:
            take(mail, **parts)
        assert [(p, i, type(e)) for p, i, e in conflict.value.refused] == [
            (part, len(good[part]), error)
        ]
        assert snapshot(mail.database) == before
    take(mail, **good)


def test_all_that_is_refused_is_told_in_the_order_of_the_parts(mail: Mailbox) -> None:
    (event,) = held(mail)
    put(mail, "k")
    with pytest.raises(TurnConflict) as conflict:
        take(
            mail,
            ack=[Ack(new_id(), 1)],
            reject=[Reject(event.id, 7, "no")],
            memory=[writes(mail, "x"), writes(mail, "k", expect=version(9))],
            publish=[mail.publication(), mail.publication(recipients=(new_id(),))],
        )
    told = [(part, index) for part, index, _ in conflict.value.refused]
    assert told == [("ack", 0), ("reject", 0), ("memory", 1), ("publish", 1)]


def test_a_lease_that_is_over_is_a_conflict(mail: Mailbox) -> None:
    (event,) = held(mail)
    pass_time(mail.database, 61)
    with pytest.raises(TurnConflict) as conflict:
        take(mail, ack=[Ack(event.id, event.generation)], memory=[writes(mail, "k")])
    ((_, _, error),) = conflict.value.refused
    assert isinstance(error, StaleClaim)
    assert error.members["reason"] == "lease_expired"
    with pytest.raises(NotFound):
        get(mail, "k")


def test_follow_ups_are_not_done_twice_for_one_event(mail: Mailbox) -> None:
    """A repeated ack is answered where it is alone, and stale where more would follow from it."""
    (event,) = held(mail)
    ack = Ack(event.id, event.generation)
    first = take(mail, ack=[ack], publish=[mail.publication()])
    assert take(mail, ack=[ack]).ack == first.ack
    for more in ({"publish": [mail.publication()]}, {"memory": [writes(mail, "k")]}):
        with pytest.raises(TurnConflict) as conflict:
            take(mail, ack=[ack], **more)
        assert conflict.value.refused[0][2].members["reason"] == "completed"
    assert mail.inbox_row().head == 2


def test_too_many_keys_is_a_conflict(mail: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rows, "MOST_KEYS", 2)
    with pytest.raises(TurnConflict) as conflict:
        take(mail, memory=[writes(mail, key) for key in ("a", "b", "c", "d")])
    assert [(i, type(e)) for _, i, e in conflict.value.refused] == [
        (2, TooManyMemoryKeys),
        (3, TooManyMemoryKeys),
    ]
    assert since(mail).entries == []


def test_a_full_inbox_is_no_conflict_but_wants_waiting(mail: Mailbox, tenant: Tenant) -> None:
    other = tenant.agent()
    other.publish()
    other.set_limits(max_pending=1)
    (event,) = held(mail)
    with pytest.raises(InboxFull):
        take(mail, ack=[Ack(event.id, event.generation)], publish=[other.publication()])
    assert mail.gate(event.id) is Gate.CLAIMED


def test_if_version_0_is_not_there_and_null_is_deleted(mail: Mailbox) -> None:
    absent = Expect(present=False)
    take(mail, memory=[writes(mail, "k", expect=absent), writes(mail, "never", None)])
    with pytest.raises(TurnConflict):
        take(mail, memory=[writes(mail, "k", expect=absent)])
    assert [(e.key, e.value) for e in since(mail).entries] == [("k", b"1"), ("never", None)]


def test_the_scopes_of_all_parts(tenant: Tenant) -> None:
    claimer = tenant.agent("p", verbs=[Verb.CLAIM]).agent
    parts = [
        ({"settles": True}, True),
        ({"memory": ["p"]}, False),
        ({"publish": ["p"]}, False),
        ({"settles": True, "publish": ["q"]}, False),
    ]
    for asked, allowed in parts:
        told = {"settles": False, "memory": [], "publish": [], **asked}
        if allowed:
            require_scopes(claimer, **told)
            continue
        with pytest.raises(InsufficientScope):
            require_scopes(claimer, **told)


def test_an_event_of_a_project_outside_is_not_found(mail: Mailbox) -> None:
    (event,) = held(mail, project="q")
    narrow = mail.only("p")
    with pytest.raises(TurnConflict) as conflict:
        take(narrow, ack=[Ack(event.id, event.generation)])
    assert isinstance(conflict.value.refused[0][2], NotFound)

"""A receiver that fails: how often it is tried, with how many at once, and who is told in the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson
import pytest

from restante.egress.refusal import Cause
from restante.errors import Overloaded
from restante.storage.transaction import Session
from restante.webhooks.callbacks import Callback, Mode
from restante.webhooks.delivery import Parcel
from restante.webhooks.relay import Done
from restante.webhooks.room import Room
from restante.webhooks.states import Step
from tests.engine.hooks import VERBS, Hooks
from tests.factories import Mailbox, make_tenant, pass_time
from tests.http.callbacks import http
from tests.support.databases import TestDatabase
from workers.webhooks import Webhooks


@pytest.fixture
def hooks(database: TestDatabase) -> Hooks:
    made = Hooks(database)
    answers(made, 200)
    return made


@pytest.fixture
def mail(database: TestDatabase) -> Mailbox:
    return make_tenant(database).agent(verbs=VERBS)


def answers(hooks: Hooks, status: int) -> None:
    hooks.receiver.answering = lambda _: http(b"", status=status)


def rounds(hooks: Hooks) -> list[int]:
    """How many deliveries each round of one pass had."""
    seen: list[int] = []

    def side_by_side(work: Callable[[Parcel], Done], parcels: Sequence[Parcel]) -> list[Done]:
        seen.append(len(parcels))
        return [work(parcel) for parcel in parcels]

    relay = hooks.relay()
    relay._side_by_side = side_by_side
    hooks.pass_once(relay)
    return seen


def numbers(hooks: Hooks) -> list[int]:
    return [body["sequence_number"] for body in hooks.receiver.bodies]


def told(mail: Mailbox) -> list[dict[str, Any]]:
    """What the server has said in the inbox."""
    events = map(orjson.loads, mail.page().events)
    return [event for event in events if event["producer"]["kind"] == "server"]


def suspend(hooks: Hooks, one: Callback) -> None:
    hooks.receiver.failing = Cause.CONNECT
    for _ in range(10):
        pass_time(hooks.database, 2)
        hooks.make_due(one)
        assert hooks.pass_once() == 1
    hooks.receiver.failing = None


def test_it_catches_up_in_order_slowly_at_first(hooks: Hooks, mail: Mailbox) -> None:
    one = hooks.active(mail)
    for _ in range(20):
        mail.publish()
    suspend(hooks, one)
    assert hooks.receiver.requests == []
    hooks.decide(one, Step.RESUME)
    assert hooks.row(one).at_once == 1
    pass_time(hooks.database, 2)
    assert rounds(hooks) == [1, 2, 4, 8, 6]
    assert numbers(hooks) == list(range(1, 22))
    assert hooks.row(one).at_once == 8
    mail.publish()
    pass_time(hooks.database, 2)
    assert rounds(hooks) == [1]


def test_max_in_flight_of_one_is_one_after_another(hooks: Hooks, mail: Mailbox) -> None:
    hooks.active(mail, max_in_flight=1)
    for _ in range(4):
        mail.publish()
    assert rounds(hooks) == [1] * 4
    assert numbers(hooks) == [1, 2, 3, 4]


def test_events_of_a_key_follow_each_other_in_one_turn(hooks: Hooks, mail: Mailbox) -> None:
    hooks.active(mail)
    for _ in range(3):
        mail.publish(ordering_key="k")
    assert rounds(hooks) == [1] * 3
    assert numbers(hooks) == [1, 2, 3]


def test_a_receiver_that_goes_away_with_eight_on_their_way_has_failed_once(
    hooks: Hooks, mail: Mailbox
) -> None:
    one = hooks.active(mail)
    for _ in range(15):
        mail.publish()
    assert rounds(hooks)[:4] == [1, 2, 4, 8]
    for _ in range(15):
        mail.publish()
    hooks.receiver.failing = Cause.CONNECT
    pass_time(hooks.database, 2)
    assert rounds(hooks) == [8]
    row = hooks.row(one)
    assert (row.failures, row.circuit, row.at_once) == (1, "open", 1)
    assert hooks.now(one).next_try_at == row.due_at
    assert hooks.attempts(one)[-8:] == [("failed", None)] * 8
    pass_time(hooks.database, 5)
    assert rounds(hooks) == [1]  # one goes out to see
    assert hooks.row(one).failures == 2
    hooks.receiver.failing = None
    hooks.make_due(one)
    pass_time(hooks.database, 2)
    relay = hooks.relay()
    (turn,) = relay.take(Room()).turns
    assert turn.ails
    assert hooks.now(one).circuit == "half_open"
    assert relay.carry_out(turn) == 15
    row = hooks.row(one)
    assert (row.failures, row.circuit, row.failing_since) == (0, "closed", None)
    assert numbers(hooks) == list(range(1, 31))


def test_those_whose_places_are_full_step_back_behind_all_others(
    hooks: Hooks, database: TestDatabase
) -> None:
    boxes = [make_tenant(database).agent(verbs=VERBS) for _ in range(3)]
    for number, box in enumerate(boxes):
        box.publish()
        hooks.active(box, url=f"https://h{number}.example.com/")
    answers(hooks, 503)
    hooks.pass_once()
    pass_time(hooks.database, 5)
    well = make_tenant(database).agent(verbs=VERBS)
    well.publish()
    hooks.active(well, url="https://well.example.com/")
    taken = hooks.relay().take(Room(ailing=1)).turns
    assert [turn.ails for turn in taken] == [True, False]
    assert hooks.relay().take(Room(ailing=1)).turns == []
    pass_time(hooks.database, 2)
    assert len(hooks.relay().take(Room(ailing=1)).turns) == 1


def test_its_agent_is_told_of_a_suspension_in_the_same_transaction(
    hooks: Hooks, mail: Mailbox
) -> None:
    one = hooks.active(mail, projects=["q"])
    mail.publish(project="q")
    suspend(hooks, one)
    (event,) = told(mail)
    at = event["payload"].pop("at")
    assert event["payload"] == {
        "type": "callback_suspended",
        "callback_id": one.public_id,
        "mode": "deliver",
        "reason": "10 deliveries in a row failed",
    }
    assert (event["type"], event["project"], event["status"]) == (
        "callback_suspended",
        "q",
        "pending",
    )
    suspended_at = hooks.now(one).suspended_at
    assert suspended_at is not None
    assert at == suspended_at.isoformat(timespec="microseconds") + "Z"
    hooks.decide(one, Step.RESUME)
    assert hooks.now(one).suspended_at is None
    hooks.decide(one, Step.SUSPEND)
    assert [event["payload"]["reason"] for event in told(mail)][1:] == ["agreed"]


def test_no_suspension_without_the_event_and_none_of_what_is_not_read(
    hooks: Hooks, mail: Mailbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = hooks.active(mail, mode=Mode.NOTIFY)

    def breaks(*given: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr("restante.inbox.arriving.place", breaks)
        with pytest.raises(RuntimeError):
            hooks.decide(one, Step.SUSPEND)
    assert hooks.now(one).status == "active"
    mail.set_limits(status="disabled")
    hooks.decide(one, Step.SUSPEND)
    assert hooks.now(one).status == "suspended"
    assert told(mail) == []


def test_what_is_removed_while_it_is_dialled_is_not_sent_and_given_back(
    hooks: Hooks, mail: Mailbox
) -> None:
    mail.publish()
    one = hooks.active(mail)
    hooks.receiver.dialled = lambda: hooks.decide(one, Step.REJECT)
    assert hooks.pass_once() == 1
    assert hooks.receiver.requests == []
    assert hooks.attempts(one) == []
    pass_time(hooks.database, 2)
    assert [event.told["attempts"] for event in mail.take()] == [1]


def test_what_is_removed_while_it_is_answered_is_settled_all_the_same(
    hooks: Hooks, mail: Mailbox
) -> None:
    event_id = mail.publish().event_id
    one = hooks.active(mail)

    def answering(_: Any) -> bytes:
        hooks.decide(one, Step.REJECT)
        return http(b"")

    hooks.receiver.answering = answering
    assert hooks.pass_once() == 1
    assert mail.read(event_id)["status"] == "completed"
    assert hooks.now(one).status == "rejected"
    assert hooks.attempts(one) == [("delivered", 200)]


class Busy:
    """A database that has no slot free for some units of work, and then it has."""

    def __init__(self, database: TestDatabase, refusals: Iterable[bool]) -> None:
        self._database = database
        self._refusals = iter(refusals)
        self.tried = 0

    def run(self, work: Callable[[Session], Any]) -> Any:
        self.tried += 1
        if next(self._refusals, False):
            raise Overloaded
        return self._database.run(work)


def test_a_busy_database_is_waited_for_and_counts_against_nobody(
    hooks: Hooks, mail: Mailbox, database: TestDatabase
) -> None:
    mail.publish()
    one = hooks.active(mail)
    busy = Busy(
        database, [False, *[True, False] * 3]
    )  # the turn; then each of it at the second try
    relay = hooks.relay(busy)
    relay._sleep = lambda _: None
    assert hooks.pass_once(relay) == 1
    assert busy.tried == 7
    assert hooks.attempts(one) == [("delivered", 200)]


def test_a_turn_that_cannot_go_on_is_given_up_and_what_it_held_given_back(
    hooks: Hooks, mail: Mailbox, database: TestDatabase
) -> None:
    event_id = mail.publish().event_id
    one = hooks.active(mail)
    # the turn and the claim; no last look while its patience lasts; then all goes well
    busy = Busy(database, [False, False, True, True])
    relay = hooks.relay(busy)

    def pass_on(seconds: float) -> None:
        hooks.clock.now += 20

    relay._sleep = pass_on
    service = Webhooks(relay)
    assert service.run_once() == {"turns": 1, "sent": 0}
    assert hooks.receiver.requests == []
    assert mail.read(event_id)["status"] == "pending"
    row = hooks.row(one)
    assert (row.failures, row.circuit) == (0, "closed")
    pass_time(database, 2)
    assert hooks.pass_once() == 1
    service.stop()

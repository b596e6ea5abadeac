"""The order of work, step by step, and the leases' bookkeeping: pure, so every path is walked."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante_agent import (
    Ack,
    BadRequest,
    Delivery,
    Failure,
    NotFound,
    Overloaded,
    PayloadTooLarge,
    Problem,
    RateLimited,
    Reject,
    Release,
    StaleClaim,
    StopReason,
    Unreachable,
    ValidationFailed,
)
from restante_agent.model.decode import decode
from restante_agent.model.event import ClaimedEvent
from restante_agent.model.memory import Turned
from restante_agent.model.settle import Acked, Rejected, Released
from restante_agent.runtime.leases import Leases
from restante_agent.runtime.outcome import Verb, verb_of_error, verb_of_result
from restante_agent.runtime.record import Finished
from restante_agent.runtime.work import (
    End,
    Handle,
    Pause,
    Recall,
    Remember,
    Settle,
    tell_quarantine,
    work,
)


def make(number: int = 1, clock: Any = lambda: 0.0) -> Delivery:
    event = {
        "event_id": f"evt_{number}",
        "project": "p",
        "type": "t",
        "status": "claimed",
        "claim_generation": 1,
        "lease_remaining_ms": 60_000,
    }
    return Delivery(decode(ClaimedEvent, event), monotonic=clock)


def refusal(kind: type, status: int) -> Exception:
    error: Exception = kind(Problem(slug="x", status=status))
    return error


def walk(
    known: Finished | None,
    verb: Verb | None,
    refusals: list[Exception | None],
    *,
    lost_in_pause: bool = False,
) -> tuple[End, list[Any], Delivery]:
    """Play the driver: every effect in order, and how it ended."""
    delivery, effects, left = make(), [], list(refusals)
    steps = work(delivery, Random(7))
    try:
        effect = next(steps)
        while True:
            effects.append(effect)
            match effect:
                case Recall():
                    effect = steps.send(known)
                case Handle():
                    effect = steps.send(verb)
                case Remember():
                    effect = steps.send(None)
                case Pause():
                    if lost_in_pause:
                        delivery.stop(StopReason.LEASE_EXPIRED)
                    effect = steps.send(None)
                case Settle():
                    error = left.pop(0) if left else None
                    effect = steps.send(None) if error is None else steps.throw(error)
    except StopIteration as end:
        return end.value, effects, delivery


def test_success_is_remembered_before_it_is_acked() -> None:
    end, effects, _ = walk(None, Ack({"n": 1}), [])
    assert effects == [Recall(), Handle(), Remember({"n": 1}), Settle(Ack({"n": 1}))]
    assert end is End.ACKED


def test_a_known_event_is_acked_with_its_first_result_and_not_handled() -> None:
    end, effects, _ = walk(Finished({"n": 1}), None, [])
    assert effects == [Recall(), Settle(Ack({"n": 1}))]
    assert end is End.KNOWN


@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        (Release(), End.RELEASED),
        (Release(error=Failure("c", "m")), End.FAILED),
        (Reject("r"), End.REJECTED),
    ],
)
def test_what_did_not_succeed_is_not_remembered(verb: Verb, expected: End) -> None:
    end, effects, _ = walk(None, verb, [])
    assert effects == [Recall(), Handle(), Settle(verb)]
    assert end is expected


def test_work_that_was_stopped_settles_nothing() -> None:
    end, effects, _ = walk(None, None, [])
    assert effects == [Recall(), Handle()]
    assert end is End.STOPPED


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (refusal(StaleClaim, 409), End.STALE),
        (refusal(NotFound, 404), End.STALE),
        (refusal(ValidationFailed, 422), End.UNSETTLED),
    ],
)
def test_an_ack_that_is_refused_or_lost_is_not_repeated_here(
    error: Exception, expected: End
) -> None:
    end, effects, delivery = walk(None, Ack(), [error])
    assert end is expected
    assert effects[-2:] == [Remember(None), Settle(Ack())]
    assert (delivery.stop_reason is StopReason.LEASE_LOST) is (expected is End.STALE)


def test_a_server_that_is_away_is_waited_for_while_the_lease_is_ours() -> None:
    away = [Unreachable("gone"), refusal(Overloaded, 503)]
    end, effects, _ = walk(None, Ack(), away)
    assert end is End.ACKED
    kinds = [type(effect) for effect in effects]
    assert kinds == [Recall, Handle, Remember, Settle, Pause, Settle, Pause, Settle]
    assert all(0.1 <= e.seconds <= 5 for e in effects if isinstance(e, Pause))
    end, effects, _ = walk(None, Ack(), away, lost_in_pause=True)
    assert end is End.UNSETTLED
    assert [type(effect) for effect in effects] == [Recall, Handle, Remember, Settle, Pause]
    limited = RateLimited(Problem(slug="rate-limited", status=429, retry_after_seconds=30.0))
    _, effects, _ = walk(None, Ack(), [limited])
    assert 30 <= effects[4].seconds <= 37.5


@pytest.mark.parametrize(
    "error",
    [refusal(BadRequest, 400), refusal(PayloadTooLarge, 413), refusal(ValidationFailed, 422)],
)
def test_a_result_that_the_server_refuses_does_not_undo_the_work(error: Exception) -> None:
    """Else its event would come again until it lies in quarantine, and each time be refused."""
    end, effects, _ = walk(None, Ack({"n": 1}), [error])
    assert effects[-2:] == [Settle(Ack({"n": 1})), Settle(Ack())]
    assert end is End.ACKED
    end, effects, _ = walk(Finished({"n": 1}), None, [error])
    assert effects[-2:] == [Settle(Ack({"n": 1})), Settle(Ack())]
    assert end is End.KNOWN


def test_a_release_refused_for_its_wording_still_goes_back() -> None:
    verb = Release(error=Failure("c", "m"))
    end, effects, _ = walk(None, verb, [refusal(ValidationFailed, 422)])
    assert effects[-2:] == [Settle(verb), Settle(Release())]
    assert end is End.FAILED


# what a handler's return means after it was told to stop


def test_a_handler_that_saw_the_flag_and_returns_nothing_has_given_up() -> None:
    for reason, expected in (
        (StopReason.LEASE_LOST, None),
        (StopReason.LEASE_EXPIRED, None),
        (StopReason.SHUTDOWN, Release()),
        (StopReason.CANCEL_REQUESTED, Release()),
    ):
        delivery = make()
        delivery.stop(reason)
        assert verb_of_result(delivery, None) == Ack()  # it never looked, so it finished
        assert delivery.stopped
        assert verb_of_result(delivery, None) == expected
        assert verb_of_result(delivery, Ack()) == Ack()
        assert verb_of_result(delivery, {"n": 1}) == Ack({"n": 1})


def test_a_result_that_cannot_be_kept_does_not_undo_the_work() -> None:
    assert verb_of_result(make(), {"big": "x" * 9000}) == Ack()
    assert verb_of_result(make(), {"odd": object()}) == Ack()
    assert verb_of_result(make(), {"nan": float("nan")}) == Ack()


def test_what_a_handler_puts_into_a_verb_is_made_fit_to_send() -> None:
    odd: Any = ValueError("an exception where text is asked for")
    assert verb_of_result(make(), Reject(odd)) == Reject("an exception where text is asked for")
    released = verb_of_result(make(), Release(5, Failure("c" * 500, odd)))
    assert isinstance(released, Release)
    assert released.error is not None
    assert (len(released.error.code), released.delay_seconds) == (100, 5)
    assert released.error.message == str(odd)
    halved = verb_of_error(make(), ValueError("half of \ud83d"))
    assert halved == Release(error=Failure("ValueError", "half of ?"))
    assert verb_of_result(make(), Reject("half of \ud83d")) == Reject("half of ?")


def test_failures_are_cut_to_what_servers_take() -> None:
    verb = verb_of_error(make(), ValueError("x" * 5000 + "end"))
    assert isinstance(verb, Release)
    assert verb.error is not None
    assert len(verb.error.message) == 1000
    assert verb.error.message.endswith("end")


def test_the_flag_tells_listeners_once_and_a_lost_lease_outranks_the_rest() -> None:
    delivery, heard = make(), []
    delivery.on_stop(heard.append)
    delivery.stop(StopReason.SHUTDOWN)
    delivery.stop(StopReason.CANCEL_REQUESTED)
    assert delivery.stop_reason is StopReason.SHUTDOWN
    delivery.stop(StopReason.LEASE_LOST)
    assert delivery.stop_reason is StopReason.LEASE_LOST
    assert heard == [StopReason.SHUTDOWN]
    delivery.on_stop(heard.append)
    assert heard[-1] is StopReason.LEASE_LOST


# leases


@given(st.floats(1.0, 43_200.0), st.integers(0, 2**32))
def test_a_renewal_and_two_more_tries_fit_into_half_of_the_lease(length: float, seed: int) -> None:
    leases = Leases(random=Random(seed))
    delivery = make()
    leases.take(delivery, since=0.0, remaining_seconds=length)
    tries, now = 0, 0.0
    while (now := leases.next_at()) < length / 2:
        assert leases.due(now) == [delivery]
        tries += 1
    assert tries >= 2 or length < 2


def test_a_renewed_lease_is_due_again_later_and_an_ended_one_never() -> None:
    leases, one, two = Leases(random=Random(1)), make(1), make(2)
    leases.take(one, since=0.0, remaining_seconds=60)
    leases.take(two, since=0.0, remaining_seconds=60)
    assert set(map(id, leases.due(25.0))) == {id(one), id(two)}
    leases.renewed(one, since=25.0, remaining_seconds=60)
    leases.drop(two)
    leases.renewed(two, since=25.0, remaining_seconds=60)  # its answer came after the end
    assert len(leases) == 1
    assert 25 + 60 * 0.28 <= leases.next_at() <= 25 + 60 * 0.36
    assert leases.over(84.9) == []
    assert leases.over(85.0) == [one]
    one.stop(StopReason.LEASE_EXPIRED)
    assert leases.over(90.0) == leases.due(90.0) == []


def test_what_is_left_of_the_lease_is_counted_on_this_machine() -> None:
    now = [100.0]
    delivery = make(clock=lambda: now[0])
    assert delivery.lease_remaining_ms == 60_000
    now[0] = 130.5
    assert delivery.lease_remaining_ms == 29_500
    delivery.extend(200.0)
    assert delivery.lease_remaining_ms == 69_500
    now[0] = 300.0
    assert delivery.lease_remaining_ms == 0


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Rejected(), 1),
        (Turned(release=(Released(status="quarantined"),)), 1),
        (Turned(ack=(Acked(event_id="evt_1"),)), 0),
        (Released(status="pending"), 0),
        (Acked(event_id="evt_1"), 0),
    ],
)
def test_whatever_leads_into_quarantine_is_told(
    caplog: pytest.LogCaptureFixture, answer: object, told: int
) -> None:
    tell_quarantine(make(), answer)
    assert len([one for one in caplog.records if "quarantined" in one.getMessage()]) == told

"""A turn that a handler returns: how it is worked, what it comes to when it is refused. Pure."""

from __future__ import annotations

from typing import Any

import pytest

from restante_agent import (
    Ack,
    IdempotencyInFlight,
    InboxFull,
    MemoryWrite,
    Overloaded,
    PayloadTooLarge,
    Publication,
    Reject,
    Release,
    Turn,
    TurnConflict,
    Unreachable,
    ValidationFailed,
)
from restante_agent.client import Client
from restante_agent.errors import ApiError, Problem
from restante_agent.runtime.outcome import verb_of_result
from restante_agent.runtime.work import End, Handle, Pause, Recall, Settle, settle_call
from tests.sdk.test_work import make, walk

TURN = Turn(ack=Ack({"n": 1}), memory=(MemoryWrite("p", "k", 1),))


def refused(kind: type[ApiError], slug: str, status: int, **members: Any) -> ApiError:
    return kind(Problem(slug=slug, status=status, members=members))


def conflict(*parts: str) -> TurnConflict:
    failures = [{"part": part, "index": 0, "problem": {"detail": "why"}} for part in parts]
    error = refused(TurnConflict, "turn-conflict", 409, failures=failures)
    assert isinstance(error, TurnConflict)
    return error


def test_a_turn_is_not_remembered_before_it_is_taken() -> None:
    """An event that comes again has had none of its turn: it must not be acked without it."""
    end, effects, _ = walk(None, TURN, [])
    assert effects == [Recall(), Handle(), Settle(TURN)]
    assert end is End.ACKED
    assert walk(None, Turn(reject=Reject("no")), [])[0] is End.REJECTED
    assert walk(None, Turn(release=Release()), [])[0] is End.RELEASED


@pytest.mark.parametrize("parts", [("ack",), ("memory", "reject")])
def test_a_turn_whose_claim_is_over_is_stale(parts: tuple[str, ...]) -> None:
    end, effects, delivery = walk(None, TURN, [conflict(*parts)])
    assert end is End.STALE
    assert effects[-1] == Settle(TURN)
    assert delivery.must_stop


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (conflict("memory"), "turn_conflict"),
        (conflict("publish"), "turn_conflict"),
        (refused(ValidationFailed, "validation-error", 422), "validation_error"),
        (refused(PayloadTooLarge, "payload-too-large", 413), "payload_too_large"),
        (refused(InboxFull, "inbox-full", 429), "inbox_full"),
    ],
)
def test_a_turn_that_is_refused_for_what_it_says_is_a_failed_attempt(
    error: ApiError, code: str
) -> None:
    end, effects, _ = walk(None, TURN, [error])
    assert end is End.FAILED
    release = effects[-1].verb
    assert isinstance(release, Release)
    assert release.error is not None
    assert (release.error.code, release.error.outcome) == (code, "none")


def test_a_turn_waits_for_a_server_that_is_away_or_still_at_it() -> None:
    away = [
        Unreachable("gone"),
        refused(IdempotencyInFlight, "idempotency-in-flight", 409),
        refused(Overloaded, "overloaded", 503),
    ]
    end, effects, _ = walk(None, TURN, list(away))
    assert end is End.ACKED
    assert [type(e) for e in effects[2:]] == [Settle, Pause, Settle, Pause, Settle, Pause, Settle]


def test_each_try_of_a_claims_turn_has_the_same_key_and_another_claims_has_not() -> None:
    core = Client("http://127.0.0.1:1", "agt_x", "secret").core
    delivery = make()
    first, again = (settle_call(core, delivery, TURN).request for _ in range(2))
    assert first == again
    assert first.headers["idempotency-key"] == "turn-evt_1-1"
    assert first.body == {
        "ack": [{"event_id": "evt_1", "claim_generation": 1, "result": {"n": 1}}],
        "memory": [{"project": "p", "key": "k", "value": 1}],
    }
    assert first.scope == "agent:p:claim agent:p:memory"


def test_what_a_handler_may_return_as_a_turn() -> None:
    delivery = make()
    publication = Publication(recipients=["agt_y"], project="q", payload={"type": "t"})
    verb = verb_of_result(
        delivery, Turn(ack={"n": 1}, publish=[publication], memory={"k": 1, "gone": None})
    )
    assert verb == Turn(
        ack=Ack({"n": 1}),
        publish=(publication,),
        memory=(MemoryWrite("p", "k", 1), MemoryWrite("p", "gone", None)),
    )
    assert verb_of_result(delivery, Turn()) == Turn(ack=Ack(None))
    wrong: list[Any] = [
        Turn(ack={}, release=Release()),
        Turn(release=Release(), reject=Reject("no")),
        Turn(memory={"k": object()}),
        Turn(memory=["k"]),  # type: ignore[list-item]  # what a handler may get wrong
        Turn(publish=[{"type": "t"}]),  # type: ignore[list-item]  # likewise
    ]
    for turn in wrong:
        released = verb_of_result(delivery, turn)
        assert isinstance(released, Release)
        assert released.error is not None
        assert released.error.code == "handler_result"

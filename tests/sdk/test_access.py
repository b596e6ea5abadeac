"""Access that is taken away while an agent runs: it pauses, says so once, and goes on when it is back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from restante_agent import (
    InsufficientScope,
    InvalidClient,
    InvalidScope,
    OAuthError,
    Reader,
    RestanteError,
    Unauthenticated,
)
from restante_agent.problem import error_of
from restante_agent.runtime.access import Access
from restante_agent.runtime.inquiry import SHUT_SECONDS
from restante_agent.runtime.reconnect import CEILING_SECONDS, Reconnecting
from restante_agent.runtime.record import Position
from tests.sdk.conftest import HandClock, Refusal, make_client, nobody
from tests.sdk.fake_answers import Reply, problem
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.running import Asking, claims


def said(caplog: pytest.LogCaptureFixture, what: str) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.getMessage().startswith(what)]


def test_refused_claims_are_asked_for_with_growing_pauses_and_go_on(
    asking: Callable[..., Asking],
    inbox: FakeInbox,
    clock: HandClock,
    refusal: Refusal,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "restante_agent")
    run = asking()
    run.once()
    inbox.publish()
    inbox.before, began, asked = refusal, clock.now, len(inbox.requests)
    for _ in range(30):
        assert run.once() == 0
        run.board.pacing.ring()  # as a stream or the end of a handler may; the pause holds all the same
    assert 30 * 10 < clock.now - began < 30 * CEILING_SECONDS
    # at most the call, a new token, and the call again
    assert len(inbox.requests) - asked <= 30 * 3
    assert len(said(caplog, "access-lost: claiming")) == 1
    inbox.before = nobody
    assert run.once() == 1
    assert len(said(caplog, "access-back: claiming")) == 1


def test_another_reason_is_said_too(caplog: pytest.LogCaptureFixture) -> None:
    access = Access("claiming")
    for error in (
        InvalidClient("invalid_client", "disabled"),
        InvalidClient("invalid_client", "disabled"),
        InvalidScope("invalid_scope", "nothing is granted"),
        error_of(*problem(401, "unauthenticated", detail="No valid access token.")[:2], b"{}"),
        InvalidScope("invalid_scope", "nothing is granted"),
    ):
        access.refused(error)
    assert len(said(caplog, "access-lost")) == 4
    access.granted()
    access.granted()
    assert len(said(caplog, "access-back")) == 1


@pytest.mark.parametrize("patient", [True, False])
def test_who_was_never_let_in_is_told_at_once(
    asking: Callable[..., Asking],
    inbox: FakeInbox,
    refusal: Refusal,
    *,
    patient: bool,
) -> None:
    run = asking(patient=patient)
    inbox.before = refusal
    with pytest.raises((OAuthError, Unauthenticated, InsufficientScope)):
        run.once()


def test_a_run_until_empty_does_not_wait_for_access(
    asking: Callable[..., Asking],
    inbox: FakeInbox,
    refusal: Refusal,
) -> None:
    run = asking(patient=False)
    run.once()
    inbox.before = refusal
    with pytest.raises(RestanteError):
        run.once()


def test_one_project_of_several_that_is_shut_does_not_shut_the_others(
    asking: Callable[..., Asking],
    inbox: FakeInbox,
    clock: HandClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = asking(projects=("a", "demo"))
    run.once()

    def shut(_method: str, path: str, body: Any) -> Reply | None:
        if path.endswith("/claim") and "a" in body["projects"]:
            return problem(403, "insufficient-scope", required_scope="agent:a:claim")
        return None

    inbox.before = shut
    inbox.publish()
    before = clock.now
    assert [run.once(), run.once()] == [0, 1]
    assert clock.now - before < SHUT_SECONDS / 2
    assert claims(inbox)[-1]["projects"] == ["demo"]
    clock.now += 2 * SHUT_SECONDS
    assert run.once() == 0
    assert claims(inbox)[-1]["projects"] == ["a", "demo"]
    inbox.before = nobody
    clock.now += 2 * SHUT_SECONDS
    run.once()
    assert claims(inbox)[-1]["projects"] == ["a", "demo"]
    assert len(said(caplog, "access-lost")) == len(said(caplog, "access-back")) == 1


def test_an_agent_that_may_claim_and_not_read_goes_on(
    asking: Callable[..., Asking], inbox: FakeInbox, clock: HandClock
) -> None:
    """It asks for the head now and then, and for its state after a 410."""

    def no_read(_method: str, path: str, _body: Any) -> Reply | None:
        if path.endswith(("/stats", "/state")):
            return problem(403, "insufficient-scope", required_scope="agent:demo:read")
        return None

    inbox.before = no_read
    run = asking()
    run.once()
    clock.now += 700
    inbox.publish()
    assert run.once() == 1
    run.inquiry._position = Position(1, "ep_1")
    inbox.epoch = "ep_2"
    inbox.publish()
    assert [run.once(), run.once()] == [0, 1]
    assert inbox.count("/state") == 1


def test_a_refused_stream_is_opened_again_with_growing_pauses_and_never_at_once() -> None:
    policy = Reconnecting(random=Random(1))
    waits = [policy.after_refusal() for _ in range(12)]
    for number, wait in enumerate(waits):
        ceiling = min(CEILING_SECONDS, 2.0**number)
        assert ceiling / 2 <= wait <= ceiling


def test_a_reader_waits_for_its_access_once_it_has_had_it(
    inbox: FakeInbox,
    clock: HandClock,
    tmp_path: Path,
    refusal: Refusal,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A held read ends with 401 when its grant is withdrawn, and so does every one after."""
    client = make_client(inbox, clock)
    refused = 0

    def sleep(seconds: float) -> None:
        nonlocal refused
        clock.sleep(seconds)
        refused += 1
        if refused == 20:
            inbox.before = nobody
            inbox.publish()

    reader = Reader(client, state_dir=tmp_path, sleep=sleep, random=Random(1))
    inbox.publish()
    pages = reader.pages()
    assert len(next(pages).events) == 1
    inbox.before, began = refusal, clock.now
    assert [e.payload["n"] for e in next(pages).events] == [2]
    assert clock.now - began > 200
    assert (
        len(said(caplog, "access-lost: reading")) == len(said(caplog, "access-back: reading")) == 1
    )
    reader.close()
    inbox.before = refusal
    fresh = Reader(make_client(inbox, clock), state_dir=tmp_path, sleep=sleep)
    with pytest.raises((OAuthError, Unauthenticated, InsufficientScope)):
        next(fresh.pages())
    fresh.close()

"""When the inbox is looked at, and when the doorbell is opened again."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante_agent import Claim, Overloaded, Problem, RateLimited, Ready, Reconnect, Unreachable
from restante_agent.model.decode import decode
from restante_agent.runtime.pacing import Pacing
from restante_agent.runtime.reconnect import Reconnecting


def answer(events: int = 0, **members: object) -> Claim:
    event = {"event_id": "evt_1", "project": "p", "type": "t", "status": "claimed"}
    taken = [{**event, "claim_generation": 1}] * events
    return decode(Claim, {"claim_id": "c", "claimable": 0, **members, "events": taken})


def limited(seconds: float | None) -> RateLimited:
    return RateLimited(Problem(slug="rate-limited", status=429, retry_after_seconds=seconds))


def test_the_first_look_is_at_once() -> None:
    assert Pacing(random=Random(1), now=50.0).due_at() <= 50.0


def test_without_a_stream_the_wait_doubles_from_one_second_to_five_minutes() -> None:
    pacing, now, waits = Pacing(random=Random(1), now=0.0), 0.0, []
    for _ in range(12):
        pacing.asking()
        pacing.answered(answer(), asked=1, now=now)
        waits.append(pacing.due_at() - now)
        now = pacing.due_at()
    for number, wait in enumerate(waits):
        least = min(300.0, 2.0**number)
        assert least <= wait <= least * 1.2
    pacing.asking()
    pacing.answered(answer(1), asked=2, now=now)
    assert 1.0 <= pacing.due_at() - now <= 1.2


@given(st.integers(0, 300_000), st.integers(0, 12), st.integers(0, 2**32))
def test_next_poll_ms_is_never_undercut(named: int, idle: int, seed: int) -> None:
    pacing = Pacing(random=Random(seed), now=0.0)
    for _ in range(idle + 1):
        pacing.asking()
        pacing.answered(answer(next_poll_ms=named), asked=1, now=0.0)
    assert pacing.due_at() >= named / 1000
    assert pacing.due_at() <= max(300.0, named / 1000) * 1.2


def test_a_ring_is_answered_at_once_but_only_once() -> None:
    pacing = Pacing(random=Random(1), now=0.0)
    pacing.stream_opened()
    pacing.asking()
    pacing.answered(answer(next_poll_ms=300_000), asked=1, now=0.0)
    assert pacing.due_at() >= 300.0
    pacing.ring()
    assert pacing.due_at() <= 0.0
    pacing.asking()
    pacing.answered(answer(next_poll_ms=300_000), asked=1, now=1.0)
    assert pacing.due_at() >= 301.0


def test_a_ring_during_a_claim_is_not_lost() -> None:
    pacing = Pacing(random=Random(1), now=0.0)
    pacing.asking()
    pacing.ring()
    pacing.answered(answer(next_poll_ms=300_000), asked=1, now=0.0)
    assert pacing.due_at() <= 0.0


@pytest.mark.parametrize(
    "claim", [answer(1, claimable=3), answer(2), answer(spent=True)], ids=["more", "full", "spent"]
)
def test_what_is_left_is_fetched_as_soon_as_there_is_room(claim: Claim) -> None:
    pacing = Pacing(random=Random(1), now=0.0)
    pacing.asking()
    pacing.answered(claim, asked=2, now=0.0)
    assert pacing.due_at() <= 0.0


def test_a_paused_inbox_is_not_hammered() -> None:
    pacing = Pacing(random=Random(1), now=0.0)
    pacing.asking()
    pacing.answered(answer(claimable=5, reason="paused", next_poll_ms=60_000), asked=1, now=0.0)
    assert pacing.due_at() >= 60.0


def test_a_lost_stream_brings_polling_back_within_a_second_or_so() -> None:
    pacing = Pacing(random=Random(1), now=0.0)
    pacing.stream_opened()
    pacing.asking()
    pacing.answered(answer(next_poll_ms=300_000), asked=1, now=0.0)
    pacing.stream_lost(10.0)
    assert 11.0 <= pacing.due_at() <= 11.2


@given(st.floats(0.0, 3600.0), st.integers(0, 2**32))
def test_a_named_wait_holds_even_against_rings(seconds: float, seed: int) -> None:
    pacing = Pacing(random=Random(seed), now=0.0)
    pacing.failed(limited(seconds), now=100.0)
    pacing.ring()
    assert 100.0 + seconds <= pacing.due_at() <= 100.0 + seconds * 1.2


@given(st.integers(0, 40), st.integers(0, 2**32))
def test_failures_without_a_named_wait_spread_and_stay_bounded(times: int, seed: int) -> None:
    pacing = Pacing(random=Random(seed), now=0.0)
    for _ in range(times + 1):
        pacing.failed(Unreachable("gone"), now=0.0)
        assert 0.1 <= pacing.due_at() <= 60.0


# the doorbell


@given(st.integers(0, 40), st.integers(0, 2**32))
def test_reconnecting_is_full_jitter_up_to_a_minute(losses: int, seed: int) -> None:
    policy = Reconnecting(random=Random(seed))
    for number in range(losses):
        wait = policy.after_loss(error=Unreachable("x"), retry_ms=None)
        assert 0.0 <= wait <= min(60.0, 2.0**number)


def test_only_a_stream_that_proved_good_starts_the_doubling_over() -> None:
    policy = Reconnecting(random=Random(1))
    for _ in range(8):
        policy.after_loss(error=None, retry_ms=None)
        policy.ready(Ready(epoch="e", heartbeat_seconds=10))
    assert max(policy.after_loss(error=None, retry_ms=None) for _ in range(50)) > 10
    policy.proven()
    assert policy.after_loss(error=None, retry_ms=None) <= 1.0
    assert policy.silence_seconds == 25.0


def test_the_servers_words_about_reconnecting_are_kept() -> None:
    policy = Reconnecting(random=Random(1))
    overloaded = Overloaded(Problem(slug="overloaded", status=503, retry_after_seconds=9.0))
    assert 9.0 <= policy.after_loss(error=overloaded, retry_ms=None) <= 11.25
    shutdown = Reconnect(reason="shutdown", retry_after_ms=4000)
    assert 4.0 <= policy.after_goodbye(shutdown) <= 5.0
    replaced = Reconnect(reason="replaced", retry_after_ms=0)
    assert policy.after_goodbye(replaced) >= 60.0

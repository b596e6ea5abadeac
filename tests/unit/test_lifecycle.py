from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from restante.inbox.lifecycle import (
    FINAL,
    FINAL_GATES,
    PENDING_GATES,
    STATUS_OF,
    TRANSITIONS,
    Gate,
    Status,
    Verb,
    backoff_ceiling,
    effective_gate,
)

NOW = datetime(2026, 1, 1, 12)
TICK = timedelta(microseconds=1)


def test_every_gate_has_a_status_and_every_status_a_gate() -> None:
    assert set(STATUS_OF) == set(Gate)
    assert set(STATUS_OF.values()) == set(Status)
    assert {g for g in Gate if STATUS_OF[g] is Status.PENDING} == set(PENDING_GATES)
    assert {STATUS_OF[g] for g in FINAL_GATES} == FINAL == {"completed", "cancelled", "expired"}


def test_what_is_final_has_no_way_out_and_everything_else_has() -> None:
    left = {status for status, _ in TRANSITIONS}
    assert left == set(Status) - FINAL


def test_every_state_but_the_first_two_is_entered_by_a_verb() -> None:
    entered = set().union(*TRANSITIONS.values())
    assert entered == set(Status) - {Status.SCHEDULED}


def test_every_verb_moves_something() -> None:
    assert {verb for _, verb in TRANSITIONS} == set(Verb)


def test_only_the_claim_leads_to_claimed_and_only_ack_and_commit_to_completed() -> None:
    into = {
        status: {verb for (_, verb), ends in TRANSITIONS.items() if status in ends}
        for status in Status
    }
    assert into[Status.CLAIMED] == {Verb.CLAIM}
    assert into[Status.COMPLETED] == {Verb.ACK, Verb.COMMIT}


@pytest.mark.parametrize(
    ("gate", "instants", "shown"),
    [
        (Gate.CLAIMED, {"claim_expires_at": NOW + TICK}, Gate.CLAIMED),
        (Gate.CLAIMED, {"claim_expires_at": NOW}, Gate.CLAIMABLE),
        (Gate.CLAIMED, {"claim_expires_at": NOW + TICK, "expires_at": NOW}, Gate.CLAIMED),
        (Gate.CLAIMABLE, {"expires_at": NOW + TICK}, Gate.CLAIMABLE),
        (Gate.CLAIMABLE, {"expires_at": NOW, "due_at": NOW}, Gate.EXPIRED),
        (Gate.WAITING, {"expires_at": NOW, "due_at": NOW}, Gate.EXPIRED),
        (Gate.WAITING, {"expires_at": NOW + TICK, "due_at": NOW + TICK}, Gate.WAITING),
        (Gate.DELAYED, {"due_at": NOW + TICK}, Gate.DELAYED),
        (Gate.DELAYED, {"due_at": NOW}, Gate.CLAIMABLE),
        (Gate.DELAYED, {"due_at": NOW, "expires_at": NOW}, Gate.EXPIRED),
        (Gate.DELAYED, {"due_at": NOW, "expires_at": NOW + TICK}, Gate.CLAIMABLE),
        (Gate.SCHEDULED, {"due_at": NOW + TICK}, Gate.SCHEDULED),
        (Gate.SCHEDULED, {"due_at": NOW}, Gate.CLAIMABLE),
        (Gate.SCHEDULED, {"due_at": NOW - TICK, "expires_at": NOW}, Gate.EXPIRED),
        (Gate.QUARANTINED, {"expires_at": NOW}, Gate.QUARANTINED),
        (Gate.COMPLETED, {"expires_at": NOW}, Gate.COMPLETED),
        (Gate.CANCELLED, {"expires_at": NOW}, Gate.CANCELLED),
    ],
    ids=str,
)
def test_the_gate_as_a_reader_sees_it(
    gate: Gate, instants: dict[str, datetime], shown: Gate
) -> None:
    assert effective_gate(gate, NOW, **instants) is shown


@pytest.mark.parametrize(
    ("attempts", "seconds"),
    [(0, 5), (1, 5), (2, 10), (3, 20), (8, 640), (9, 900), (100, 900), (10_000, 900)],
)
def test_the_wait_doubles_up_to_a_quarter_of_an_hour(attempts: int, seconds: int) -> None:
    assert backoff_ceiling(attempts) == timedelta(seconds=seconds)


def test_a_publication_may_set_its_own_wait() -> None:
    assert backoff_ceiling(3, timedelta(seconds=1), timedelta(seconds=3)) == timedelta(seconds=3)
    assert backoff_ceiling(3, timedelta(0), timedelta(hours=1)) == timedelta(0)

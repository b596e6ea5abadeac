"""The state machine of callbacks, every pair of state and step."""

from __future__ import annotations

import re

import pytest

from restante.webhooks.states import STEPS, Status, Step, after, why_not

# passed, failed: the challenge
MATRIX = """
            register passed    failed   change approve reject   suspend   resume remove
none        failed   -         -        -      -       -        -         -      -
failed      -        pending   failed   failed -       rejected -         -      removed
pending     -        pending   failed   failed active  rejected -         -      removed
active      -        active    active   failed -       rejected suspended -      removed
suspended   -        suspended suspended failed -      rejected -         active removed
rejected    -        -         -        failed -       -        -         -      removed
removed     -        -         -        -      -       -        -         -      -
"""
SHORT = {"failed": Status.CHALLENGE_FAILED, "pending": Status.PENDING_APPROVAL}
SHORT_STEPS = {"passed": Step.CHALLENGE_PASSED, "failed": Step.CHALLENGE_FAILED}


def state(word: str) -> Status | None:
    return None if word in ("none", "-") else SHORT.get(word) or Status(word)


def cells() -> list[tuple[Status | None, Step, Status | None]]:
    head, *lines = [line.split() for line in MATRIX.strip().splitlines()]
    steps = [SHORT_STEPS.get(word) or Step(word) for word in head]
    return [
        (state(line[0]), step, state(to))
        for line in lines
        for step, to in zip(steps, line[1:], strict=True)
    ]


@pytest.mark.parametrize(("status", "step", "to"), cells())
def test_a_step(status: Status | None, step: Step, to: Status | None) -> None:
    assert after(status, step) is to


def test_every_state_and_step_is_in_the_matrix() -> None:
    assert len(cells()) == (len(Status) + 1) * len(Step)
    assert set(STEPS.values()) == set(Status)


def test_nothing_becomes_active_but_by_an_administrator() -> None:
    entered = {step for (before, step), to in STEPS.items() if to == "active" != before}
    assert entered == {Step.APPROVE, Step.RESUME}


def test_what_cannot_be_done_is_told_in_words_with_a_remedy() -> None:
    assert why_not(Status.REJECTED, Step.APPROVE) == (
        "The callback is rejected and cannot be approved; only one that is pending_approval can. Its agent "
        "may change its url, mode or projects, which starts over, or remove it and register another."
    )
    refused = [(status, step) for status in Status for step in Step if after(status, step) is None]
    for status, step in refused:
        if step is not Step.REGISTER:
            told = why_not(status, step)
            assert told.startswith(f"The callback is {status} and cannot be ")
            assert re.fullmatch(r".* only one that is [a-z_]+( or [a-z_]+)* can\. [A-Z].*\.", told)
            assert Step.CHALLENGE_PASSED not in told

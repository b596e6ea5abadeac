"""The states of a callback and what leads from one to the other (contract 5.10), as data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Status(StrEnum):
    """Where a callback stands. Only an active one is told or given anything but challenges."""

    CHALLENGE_FAILED = "challenge_failed"  # also until the first challenge has been answered
    PENDING_APPROVAL = "pending_approval"
    ACTIVE = "active"
    SUSPENDED = "suspended"
    REJECTED = "rejected"
    REMOVED = "removed"


class Step(StrEnum):
    """What happens to a callback."""

    REGISTER = "register"
    CHALLENGE_PASSED = "challenge_passed"
    CHALLENGE_FAILED = "challenge_failed"
    CHANGE = "change"
    APPROVE = "approve"
    REJECT = "reject"
    SUSPEND = "suspend"  # by a person, by failures, by the receiver's 410
    RESUME = "resume"
    REMOVE = "remove"


_ALIVE = tuple(status for status in Status if status is not Status.REMOVED)

STEPS: Mapping[tuple[Status | None, Step], Status] = {
    (None, Step.REGISTER): Status.CHALLENGE_FAILED,
    (Status.CHALLENGE_FAILED, Step.CHALLENGE_PASSED): Status.PENDING_APPROVAL,
    (Status.CHALLENGE_FAILED, Step.CHALLENGE_FAILED): Status.CHALLENGE_FAILED,
    (Status.CHALLENGE_FAILED, Step.REJECT): Status.REJECTED,
    (Status.PENDING_APPROVAL, Step.CHALLENGE_PASSED): Status.PENDING_APPROVAL,
    (Status.PENDING_APPROVAL, Step.CHALLENGE_FAILED): Status.CHALLENGE_FAILED,
    (Status.PENDING_APPROVAL, Step.APPROVE): Status.ACTIVE,
    (Status.PENDING_APPROVAL, Step.REJECT): Status.REJECTED,
    # one failed challenge of what has worked is no reason to end it: three within an hour suspend it
    (Status.ACTIVE, Step.CHALLENGE_PASSED): Status.ACTIVE,
    (Status.ACTIVE, Step.CHALLENGE_FAILED): Status.ACTIVE,
    (Status.ACTIVE, Step.SUSPEND): Status.SUSPENDED,
    (Status.ACTIVE, Step.REJECT): Status.REJECTED,
    (Status.SUSPENDED, Step.CHALLENGE_PASSED): Status.SUSPENDED,
    (Status.SUSPENDED, Step.CHALLENGE_FAILED): Status.SUSPENDED,
    (Status.SUSPENDED, Step.RESUME): Status.ACTIVE,
    (Status.SUSPENDED, Step.REJECT): Status.REJECTED,
    **{(status, Step.CHANGE): Status.CHALLENGE_FAILED for status in _ALIVE},
    **{(status, Step.REMOVE): Status.REMOVED for status in _ALIVE},
}
"""What is not here is refused. A removed one has no step at all."""


_DONE: Mapping[Step, str] = {
    Step.CHALLENGE_PASSED: "challenged",
    Step.CHALLENGE_FAILED: "challenged",
    Step.CHANGE: "changed",
    Step.APPROVE: "approved",
    Step.REJECT: "rejected",
    Step.SUSPEND: "suspended",
    Step.RESUME: "resumed",
    Step.REMOVE: "removed",
}
_REMEDIES: Mapping[Status, str] = {
    Status.CHALLENGE_FAILED: "Nothing but challenges is sent to it: mend its receiver and have it "
    "challenged again, or reject it.",
    Status.PENDING_APPROVAL: "Nothing but challenges is sent to it yet: approve or reject it.",
    Status.ACTIVE: "Suspend or reject it to end its deliveries.",
    Status.SUSPENDED: "Resume or reject it.",
    Status.REJECTED: "Its agent may change its url, mode or projects, which starts over, or remove it "
    "and register another.",
    Status.REMOVED: "Its agent may register another.",
}


def why_not(status: Status, step: Step) -> str:
    """Why there is no such step from here, and what there is instead."""
    froms = " or ".join(one for one, other in STEPS if other is step and one is not None)
    return (
        f"The callback is {status} and cannot be {_DONE[step]}; only one that is {froms} can. "
        f"{_REMEDIES[status]}"
    )


def after(status: Status | None, step: Step) -> Status | None:
    """Where a step leads; None: there is no such step from here."""
    return STEPS.get((status, step))

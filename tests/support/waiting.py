"""Waiting for a condition instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
PATIENCE_SECONDS = 30.0
"""A bound for what never comes, generous: how quick something is, no test says."""


class NeverCame(AssertionError):
    """A condition that a test waited for did not come in time."""


def wait_until(
    condition: Callable[[], T],
    what: str,
    *,
    timeout_seconds: float = PATIENCE_SECONDS,
    interval_seconds: float = 0.01,
) -> T:
    """Return the condition's first truthy answer; raise NeverCame, naming `what`, when the time is over.

    The interval doubles up to a quarter of a second, so long waits do not load the machine.
    """
    end = time.monotonic() + timeout_seconds
    while True:
        answer = condition()
        if answer:
            return answer
        left = end - time.monotonic()
        if left <= 0:
            raise NeverCame(f"{what}: not within {timeout_seconds:g} s (last answer: {answer!r})")
        time.sleep(min(interval_seconds, left))
        interval_seconds = min(interval_seconds * 2, 0.25)

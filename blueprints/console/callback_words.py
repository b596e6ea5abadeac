"""States of a callback, in words."""

from __future__ import annotations

from restante.webhooks.states import Status

WORDS = {
    Status.PENDING_APPROVAL: "waits for approval",
    Status.CHALLENGE_FAILED: "challenge failed",
}
"""Of those whose name is none."""


def in_words(status: str) -> str:
    """As a page says it."""
    return WORDS.get(Status(status), status)

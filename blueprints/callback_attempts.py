"""What was tried to deliver through a callback, as its agent and administrators see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from blueprints import examples
from blueprints.access import Access
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, ListQuery
from blueprints.shapes import WireInstant
from restante.errors import PageTokenInvalid
from restante.inbox.envelope import instant
from restante.webhooks.attempts_list import Attempt

DESCRIPTION = (
    "Newest first, as long as events are kept. What the receiver answered is told by its status alone; what "
    "the network did is `failed`, without a time, whatever it was."
)


class OneAttempt(Answer):
    """A delivery that was tried."""

    at: WireInstant
    event_id: str | None = Field(description="null: it said only that something is there.")
    outcome: Literal["delivered", "accepted", "gone", "refused", "failed"] = Field(
        description="`accepted`: 202, the receiver settles itself; `gone`: 410; `refused`: another 4xx, a "
        "failed attempt of the event; `failed`: of the transport, counts against the callback alone."
    )
    status: int | None = Field(description="Of HTTP; null: there was no answer.")
    duration_ms: int | None
    attempt: int = Field(description="Of the event.")
    next_try_at: WireInstant | None = Field(
        description="When the callback is tried again; null: nothing had to wait."
    )


class Attempts(Answer):
    """A page of attempts, newest first."""

    attempts: list[OneAttempt]
    next_page_token: str | None


EXAMPLE: dict[str, Any] = {
    "attempts": [
        {
            "at": examples.CREATED_AT,
            "event_id": examples.EVENT_ID,
            "outcome": "failed",
            "status": 503,
            "duration_ms": 212,
            "attempt": 1,
            "next_try_at": examples.LATER,
        }
    ],
    "next_page_token": None,
}


def attempts_endpoint(access: Access, tag: str) -> Endpoint:
    """The endpoint that lists them, for whoever may."""
    return Endpoint(
        method="GET",
        access=access,
        tag=tag,
        summary="List a callback's attempts",
        description=DESCRIPTION,
        query=ListQuery,
        answer=Attempts,
        answer_examples={"one": EXAMPLE},
        problems=(PageTokenInvalid,),
    )


def shown_page(page: tuple[Sequence[Attempt], str | None]) -> dict[str, Any]:
    """As JSON has it."""
    attempts, token = page
    return {"attempts": list(map(_shown, attempts)), "next_page_token": token}


def _shown(one: Attempt) -> dict[str, Any]:
    return {
        "at": instant(one.at),
        "event_id": one.event_id,
        "outcome": one.outcome,
        "status": one.status,
        "duration_ms": one.duration_ms,
        "attempt": one.attempt,
        "next_try_at": instant(one.next_at),
    }

"""What settles a claim, as bodies say it (contract 5.4): alone, or named in a list."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from blueprints.fields import Body, Generation, IdText, LeaseSeconds, RawObject, Seconds
from blueprints.raw_json import Raw
from restante.errors import ValidationFailed
from restante.inbox.failures import Failure, Outcome
from restante.inbox.orders import Ack, Reject, Release, Renew

RESULT_BYTES = 8 * 1024
PROGRESS_BYTES = 4 * 1024
MOST_ORDERS = 1000


def _at_most(limit: int) -> AfterValidator:
    def check(value: Raw) -> Raw:
        if len(value.text) > limit:
            raise PydanticCustomError(
                "too_long", f"Input should have at most {limit} bytes as sent"
            )
        return value

    return AfterValidator(check)


Result = Annotated[
    RawObject,
    _at_most(RESULT_BYTES),
    WithJsonSchema(
        {"type": "object", "description": f"What came of it; at most {RESULT_BYTES} bytes."}
    ),
]
Progress = Annotated[
    RawObject,
    _at_most(PROGRESS_BYTES),
    WithJsonSchema(
        {"type": "object", "description": f"How far it is; at most {PROGRESS_BYTES} bytes."}
    ),
]


class ErrorBody(Body):
    """Why an attempt failed. `outcome`: whether its effect is there."""

    code: Annotated[str, Field(min_length=1, max_length=128)]
    message: Annotated[
        str, Field(max_length=8000, description="The first 2,000 characters are kept.")
    ]
    outcome: Literal["none", "unknown", "failed"] = "unknown"


class AckBody(Body):
    """The work is done."""

    claim_generation: Generation
    result: Result | None = None

    def order(self, event_id: bytes) -> Ack:
        """For the engine."""
        return Ack(
            event_id, self.claim_generation, None if self.result is None else self.result.text
        )


class ReleaseBody(Body):
    """Give it back; with an error the attempt has failed."""

    claim_generation: Generation
    delay_seconds: Seconds | None = None
    error: ErrorBody | None = None

    def order(self, event_id: bytes) -> Release:
        """For the engine."""
        error = self.error
        failure = (
            None if error is None else Failure(error.code, error.message, Outcome(error.outcome))
        )
        return Release(event_id, self.claim_generation, self.delay_seconds, failure)


class RejectBody(Body):
    """It can never be done."""

    claim_generation: Generation
    reason: Annotated[str, Field(min_length=1, max_length=2000)]

    def order(self, event_id: bytes) -> Reject:
        """For the engine."""
        return Reject(event_id, self.claim_generation, self.reason)


class RenewBody(Body):
    """More time."""

    claim_generation: Generation
    lease_seconds: LeaseSeconds | None = None
    progress: Progress | None = None

    def order(self, event_id: bytes) -> Renew:
        """For the engine."""
        progress = None if self.progress is None else self.progress.text
        return Renew(event_id, self.claim_generation, self.lease_seconds, progress)


class NamedAck(AckBody):
    """An ack of the event named."""

    event_id: IdText


class NamedRelease(ReleaseBody):
    """A release of the event named."""

    event_id: IdText


class NamedReject(RejectBody):
    """A rejection of the event named."""

    event_id: IdText


class NamedRenew(RenewBody):
    """A renewal of the event named."""

    event_id: IdText


def check_orders(body: Body, *verbs: str) -> None:
    """ValidationFailed where the orders of a body name an event twice, or too many."""
    seen: set[str] = set()
    for verb in verbs:
        for index, order in enumerate(getattr(body, verb) or ()):
            if order.event_id in seen:
                raise ValidationFailed.at(
                    f"/{verb}/{index}/event_id",
                    "is named twice in this call: settle an event once",
                )
            seen.add(order.event_id)
    if len(seen) > MOST_ORDERS:
        raise ValidationFailed.at(
            "", f"names more than {MOST_ORDERS} events: settle them in several calls"
        )

"""Everything Restante refuses, as one tree. A class's docstring is its message.

No status codes here: `blueprints/problems.py` has the table that maps a class to its problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

MOST_NAMED, MOST_CHARACTERS = 5, 200
"""Of what an error is about, as text."""


class RestanteError(Exception):
    """Restante could not do that."""

    def __init__(self, detail: str | None = None, **members: Any) -> None:
        self.detail = detail or (type(self).__doc__ or "").strip().splitlines()[0]
        self.members = members
        super().__init__(self.detail)

    def __str__(self) -> str:
        """The detail, then which fields and which recipients it is about: the first few, each cut short."""
        faults = [f"{one['pointer']}: {one['detail']}" for one in self.members.get("errors", ())]
        about = [*faults, *map(str, self.members.get("recipients", ()))]
        if not about:
            return self.detail
        told = "; ".join(one[:MOST_CHARACTERS] for one in about[:MOST_NAMED])
        more = f"; and {len(about) - MOST_NAMED} more" if len(about) > MOST_NAMED else ""
        return f"{self.detail.removesuffix('.')}: {told}{more}"


class ValidationFailed(RestanteError):
    """The request has members that are missing, unknown or out of range."""

    @classmethod
    def at(cls, pointer: str, detail: str) -> ValidationFailed:
        """One fault, at a JSON pointer (RFC 6901) into the body, or the name of a parameter."""
        return cls(errors=[{"pointer": pointer, "detail": detail}])


class NotFound(RestanteError):
    """There is nothing of that name here."""


class NotItsOwn(NotFound):
    """There is nothing of that name here."""


class Unauthenticated(RestanteError):
    """No valid access token came: one lives ten minutes, and /oauth/token gives the next.

    `presented`: one came, and it does not hold. `reason` is for the audit; the caller is not told.
    `bearer`: the public id that a token of ours names which holds no more.
    """

    def __init__(
        self, reason: str = "missing", *, presented: bool = False, bearer: str | None = None
    ) -> None:
        super().__init__()
        self.reason = reason
        self.presented = presented
        self.bearer = bearer


class AmbiguousCredentials(RestanteError):
    """The request carries credentials in more than one way: send one Authorization field."""


class InsufficientScope(RestanteError):
    """The token lacks a scope that this needs.

    `scopes`: all that are known to be wanting; the first of them is the member `required_scope`.
    """

    def __init__(self, *scopes: str) -> None:
        what = f"scope{'s' * (len(scopes) > 1)} {' and '.join(scopes)}"
        super().__init__(
            f"This needs the {what}: ask for a token with it, and where that is refused for its grant.",
            required_scope=scopes[0],
        )
        self.scopes = scopes


class TokenTooOld(RestanteError):
    """A signing key is made or registered only with an access token of the last 60 s."""


class TooManyKeys(RestanteError):
    """The agent has four live signing keys, as many as it may."""


class TooManyMemoryKeys(TooManyKeys):
    """The agent's memory has 10,000 keys in this project, as many as it may: delete some."""


class VersionConflict(RestanteError):
    """The key is at another version than the one named: nothing was written."""


class TurnConflict(RestanteError):
    """A part of the turn cannot be done as it is said: nothing of it was done.

    `refused`: (part, place in its list, why) of each, which the edge tells as `failures`.
    """

    def __init__(self, refused: Sequence[tuple[str, int, RestanteError]]) -> None:
        super().__init__()
        self.refused = refused


class StaleClaim(RestanteError):
    """The claim named is not the current one, or its lease is over: nothing was changed."""

    def __init__(self, reason: str, current_generation: int) -> None:
        super().__init__(reason=reason, current_generation=current_generation)


class EventFinal(RestanteError):
    """The event is completed, cancelled or expired: there is nothing left to cancel."""


class CallbackRefused(RestanteError):
    """This URL is not taken as a callback: an https URL with a public host name is."""


class ChallengeFailed(RestanteError):
    """The receiver did not answer its challenge rightly: mend it, and have it challenged again."""


class CallbackConflict(RestanteError):
    """The callback's state, or another callback of the agent, does not let this be done."""


class CursorGone(RestanteError):
    """The history this cursor was read from is gone: fetch the state and go on from there."""


class RecipientRefused(RestanteError):
    """A recipient is unknown, removed or without the project."""


class InboxFull(RestanteError):
    """A recipient has too much waiting: nothing was written."""


class PayloadTooLarge(RestanteError):
    """The payload, or the sum of payloads of this call, is too large."""


class IdempotencyKeyReused(RestanteError):
    """This idempotency key was used with another request."""


class IdempotencyInFlight(RestanteError):
    """The first request with this idempotency key is still running: repeat in a moment."""


class PageTokenInvalid(RestanteError):
    """The page token is not one that was given out for this list."""


class RateLimited(RestanteError):
    """Too many requests: wait as long as Retry-After says."""

    def __init__(self, detail: str | None = None, *, retry_after_seconds: int) -> None:
        super().__init__(detail)
        self.retry_after_seconds = retry_after_seconds


class Overloaded(RestanteError):
    """No database slot was free within a second: nothing was done, repeat it."""


class OutcomeUnknown(RestanteError):
    """The connection broke during COMMIT: repeat with the same key, claim_id or generation."""


class UnsupportedDatabase(RestanteError):
    """This database cannot keep Restante's promises."""

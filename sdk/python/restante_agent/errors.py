"""Every error this library raises, one tree under `RestanteError`.

`ApiError` is an answer of the server that refused the call (problem+json, RFC 9457);
`Unreachable` is no answer at all; `OAuthError` is the token endpoint's answer (RFC 6749 5.2).
`retryable` says whether the same call, with the same keys, may be sent again as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar


class RestanteError(Exception):
    """Base of everything raised here."""

    retryable: ClassVar[bool] = False


class ConfigurationError(RestanteError):
    """A setting is missing or contradicts another; the message names it and the remedy."""


class UnexpectedAnswer(RestanteError):
    """The server answered something this version cannot read (a proxy's page, a missing member)."""


class Unreachable(RestanteError):
    """No answer came: refused, reset, broken off, or timed out.

    `may_have_happened` is False only when the request surely never reached the server.
    """

    retryable = True

    def __init__(self, message: str, *, may_have_happened: bool = True) -> None:
        super().__init__(message)
        self.may_have_happened = may_have_happened


class TimedOut(Unreachable):
    """The server did not answer within the read timeout."""


class OAuthError(RestanteError):
    """The token endpoint refused. `error` is the code of RFC 6749, `description` its text."""

    def __init__(self, error: str, description: str, *, status: int = 400) -> None:
        super().__init__(f"{error}: {description}" if description else error)
        self.error, self.description, self.status = error, description, status


class InvalidClient(OAuthError):
    """The client id or secret is wrong, or the agent is disabled."""


class InvalidScope(OAuthError):
    """More was asked than is granted."""


class LoginRefused(OAuthError):
    """A device's login came to nothing: an operator refused it, or its time is over."""


class LoginEnded(OAuthError):
    """The kept login is worth nothing any more, or gone; `restante-agent login` makes a new one."""


class LoginBusy(Unreachable):
    """Another process of the agent is refreshing the login, and has been for too long."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem document. `slug` is the last part of `type`; `members` is the whole document."""

    slug: str
    status: int
    title: str = ""
    detail: str = ""
    instance: str = ""
    request_id: str = ""
    retry_after_seconds: float | None = None
    members: Mapping[str, Any] = field(default_factory=dict, repr=False)


class ApiError(RestanteError):
    """The server refused the call. `problem` holds what it said.

    `retried`: an earlier try of the same call got no answer and may be what this one met.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail or problem.title or f"HTTP {problem.status} {problem.slug}")
        self.problem = problem
        self.retried = False

    def __str__(self) -> str:
        text = super().__str__()
        slug, request = self.problem.slug, self.problem.request_id
        return f"{text} [{slug}{', request ' + request if request else ''}]"

    @property
    def status(self) -> int:
        return self.problem.status

    @property
    def slug(self) -> str:
        return self.problem.slug

    @property
    def retry_after_seconds(self) -> float | None:
        """What the server asked to wait, seconds; None when it did not say."""
        return self.problem.retry_after_seconds

    def member(self, name: str) -> Any:
        return self.problem.members.get(name)


class BadRequest(ApiError):
    """400: not a JSON object, ambiguous credentials, a page token that is not ours, a digest."""


class ValidationFailed(ApiError):
    """422: a member is wrong. `errors` are ``{pointer, detail}`` objects."""

    @property
    def errors(self) -> tuple[Mapping[str, Any], ...]:
        found = self.member("errors")
        return tuple(e for e in found if isinstance(e, Mapping)) if isinstance(found, list) else ()

    def __str__(self) -> str:
        named = "; ".join(
            f"{e.get('pointer', '')} {e.get('detail', '')}".strip() for e in self.errors
        )
        return f"{super().__str__()}: {named}" if named else super().__str__()


class RecipientRefused(ValidationFailed):
    """422: a recipient is unknown, removed, or without the project; nothing was written."""

    @property
    def recipients(self) -> tuple[str, ...]:
        """Those that were refused."""
        named = self.member("recipients")
        return tuple(str(r) for r in named) if isinstance(named, list) else ()

    def __str__(self) -> str:
        return f"{super().__str__()}: {', '.join(self.recipients)}".removesuffix(": ")


class IdempotencyKeyReused(ValidationFailed):
    """422: this idempotency key already belongs to another body."""


class Unauthenticated(ApiError):
    """401, also with a token just issued: revoked, disabled, or a signature that does not hold."""


class Forbidden(ApiError):
    """403."""


class InsufficientScope(Forbidden):
    """403: the token lacks `required_scope`."""

    @property
    def required_scope(self) -> str | None:
        scope = self.member("required_scope")
        return scope if isinstance(scope, str) else None


class NotFound(ApiError):
    """404: absent, or nothing that this principal may see; the two look alike."""


class Conflict(ApiError):
    """409."""


class StaleClaim(Conflict):
    """409: this claim is over; nothing was changed. Stop the work: somebody else may hold it.

    `reason`: lease_expired, released, reclaimed, completed, cancelled, quarantined, expired,
    never_claimed. `current_generation`: the event's present one (0: never claimed).
    """

    @property
    def reason(self) -> str:
        return str(self.member("reason") or "")

    @property
    def current_generation(self) -> int | None:
        number = self.member("current_generation")
        return number if isinstance(number, int) else None

    def __str__(self) -> str:
        known = {"reason": self.reason, "current_generation": self.current_generation}
        named = " ".join(f"{name}={value}" for name, value in known.items() if value)
        return f"{super().__str__()}: {named}" if named else super().__str__()


class EventFinal(Conflict):
    """409: too late to cancel, the event is final."""


class IdempotencyInFlight(Conflict):
    """409: the first call with this key is still running."""

    retryable = True


class CursorGone(ApiError):
    """410: this cursor or epoch can no longer be read from. Never repeat it.

    Fetch `state_url` once and go on from the cursor it says. `lost` says which part is gone
    (None when the epoch changed); `reason` is ``retention`` or ``epoch``.
    """

    @property
    def reason(self) -> str:
        return str(self.member("reason") or "")

    @property
    def lost(self) -> Mapping[str, Any] | None:
        lost = self.member("lost")
        return lost if isinstance(lost, Mapping) else None

    @property
    def oldest_cursor(self) -> int:
        return int(self.member("oldest_cursor") or 0)

    @property
    def head(self) -> int:
        return int(self.member("head") or 0)

    @property
    def epoch(self) -> str:
        return str(self.member("epoch") or "")

    @property
    def state_url(self) -> str | None:
        url = self.member("state_url")
        return url if isinstance(url, str) and url else None


class PayloadTooLarge(ApiError):
    """413."""


class RateLimited(ApiError):
    """429: slow down for `retry_after_seconds`."""

    retryable = True


class InboxFull(ApiError):
    """429: a recipient's inbox is at its limit; nothing was written. `recipients` are named.

    Not retried by the client: it is for the producer to slow down or to give up.
    """

    @property
    def recipients(self) -> tuple[str, ...]:
        named = self.member("recipients")
        return tuple(str(r) for r in named) if isinstance(named, list) else ()


class ServerFailure(ApiError):
    """5xx: the server, or a proxy before it, failed. `problem.request_id` finds it in the log."""

    retryable = True


class Overloaded(ServerFailure):
    """503: no database slot was free; nothing was changed."""


class OutcomeUnknown(ServerFailure):
    """503: the server lost its database during COMMIT. Repeat with the same key to learn."""


# What passes by itself: the same call may be made again later. Anything else needs somebody.
PASSING = (Unreachable, ServerFailure, RateLimited, UnexpectedAnswer)
# Refused for what it says: said again it would be again.
REFUSED = (BadRequest, ValidationFailed, PayloadTooLarge)
# What an operator can give back: a grant, a credential, the agent itself.
ACCESS = (Unauthenticated, InsufficientScope, OAuthError)

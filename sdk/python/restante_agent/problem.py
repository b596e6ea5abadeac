"""From an answer that refuses to the error it stands for (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from restante_agent import errors, jsontext, memory_errors

_BY_SLUG: dict[str, type[errors.ApiError]] = {
    "validation-error": errors.ValidationFailed,
    "recipient-refused": errors.RecipientRefused,
    "idempotency-key-reused": errors.IdempotencyKeyReused,
    "idempotency-in-flight": errors.IdempotencyInFlight,
    "unauthenticated": errors.Unauthenticated,
    "insufficient-scope": errors.InsufficientScope,
    "not-found": errors.NotFound,
    "stale-claim": errors.StaleClaim,
    "event-final": errors.EventFinal,
    "turn-conflict": memory_errors.TurnConflict,
    "cursor-gone": errors.CursorGone,
    "version-conflict": memory_errors.VersionConflict,
    "payload-too-large": errors.PayloadTooLarge,
    "rate-limited": errors.RateLimited,
    "inbox-full": errors.InboxFull,
    "overloaded": errors.Overloaded,
    "outcome-unknown": errors.OutcomeUnknown,
}

# For slugs added after this version, and for proxies that speak no problem+json.
_BY_STATUS: dict[int, type[errors.ApiError]] = {
    400: errors.BadRequest,
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    410: errors.CursorGone,
    412: memory_errors.VersionConflict,
    413: errors.PayloadTooLarge,
    422: errors.ValidationFailed,
    429: errors.RateLimited,
}


# What a proxy may say of itself; any other 4xx without a problem document is not Restante's.
_ANYBODYS = (401, 403, 408, 413, 429)


def error_of(status: int, headers: Mapping[str, str], content: bytes) -> errors.RestanteError:
    """The typed error for an answer of 400 or above; header names are lower case."""
    members = _document(headers, content)
    if "type" not in members and status < 500 and status not in _ANYBODYS:
        kind = headers.get("content-type", "no content type")
        return errors.UnexpectedAnswer(
            f"HTTP {status} with {kind} instead of a problem document; is this URL a Restante server?"
        )
    return error_from_members(
        members,
        status=status,
        request_id=headers.get("x-request-id", ""),
        retry_after_seconds=retry_after(headers),
    )


def error_from_members(
    members: Mapping[str, Any],
    *,
    status: int,
    request_id: str = "",
    retry_after_seconds: float | None = None,
) -> errors.ApiError:
    """The typed error for a problem document, also for one inside a settle result."""
    slug = str(members.get("type") or "").rstrip("/").rpartition("/")[2] or f"http-{status}"
    problem = errors.Problem(
        slug=slug,
        status=status,
        title=str(members.get("title") or ""),
        detail=str(members.get("detail") or ""),
        instance=str(members.get("instance") or ""),
        request_id=request_id or str(members.get("request_id") or ""),
        retry_after_seconds=retry_after_seconds,
        members=members,
    )
    kind = _BY_SLUG.get(slug) or _BY_STATUS.get(status)
    if kind is None:
        kind = errors.ServerFailure if status >= 500 else errors.ApiError
    if kind is errors.CursorGone and "head" not in members:  # a 410 of something else
        kind = memory_errors.RevisionGone if "memory_revision" in members else errors.ApiError
    return kind(problem)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """`Retry-After` in seconds, from either form of RFC 9110 10.2.3; None when absent or odd.

    A date is measured against the answer's own `Date`, so a client clock that is off does no harm.
    """
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(text)
        since = parsedate_to_datetime(headers["date"])
        return max(0.0, (until - since).total_seconds())
    except (KeyError, TypeError, ValueError):
        return None


def _document(headers: Mapping[str, str], content: bytes) -> Mapping[str, Any]:
    if "json" not in headers.get("content-type", ""):
        return {}
    try:
        members = jsontext.loads(content)
    except ValueError:
        return {}
    return members if isinstance(members, dict) else {}

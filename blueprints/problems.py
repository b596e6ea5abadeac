"""Errors as problems (RFC 9457): one table maps a class to its problem, one place renders it."""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson
from flask import Flask, Request, Response, request
from sqlalchemy.exc import DBAPIError
from werkzeug.exceptions import HTTPException, MethodNotAllowed, RequestEntityTooLarge

from blueprints.principal import challenge
from blueprints.problem_signatures import DIGESTS, SIGNATURE_TEXTS, SIGNATURES
from blueprints.problem_texts import TEXTS
from blueprints.refused_calls import note_refused
from blueprints.request_ids import request_id
from blueprints.signatures import has_query
from restante import errors
from restante.identity.roles import RightMissing
from restante.identity.signatures.profile import accept_signature
from restante.identity.signatures.refusals import SignatureRefused

log = logging.getLogger("restante.http")
MEDIA_TYPE = "application/problem+json"


class MalformedJson(errors.RestanteError):
    """The body is no JSON object."""


class UnreadableRequest(errors.RestanteError):
    """The request is not HTTP as RFC 9112 has it; nothing of it was looked at."""


class AddressTooLong(UnreadableRequest):
    """The first line of the request is longer than this server reads."""


class FieldsTooLarge(UnreadableRequest):
    """The fields of the request's head are too many or too long for this server to read."""


class UnknownCoding(UnreadableRequest):
    """The body comes in a transfer coding that this server does not know; it knows chunked."""


class UnsupportedMediaType(errors.RestanteError):
    """The body must be sent as application/json, in UTF-8."""


class BodyTooLarge(errors.PayloadTooLarge):
    """The body is larger than this server takes."""


class MethodRefused(errors.RestanteError):
    """This address does not take that method; Allow names those that it takes."""


class InternalError(errors.RestanteError):
    """Something went wrong here. It is not the request's fault; the request id finds it in the log."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its page is /problems/<slug>."""

    slug: str
    status: int
    title: str

    @property
    def type(self) -> str:
        """The URI reference that names it."""
        return f"/problems/{self.slug}"


KINDS: dict[type[errors.RestanteError], Kind] = {
    MalformedJson: Kind("malformed-json", 400, "The body is no JSON object"),
    UnreadableRequest: Kind("bad-request", 400, "The request could not be read"),
    AddressTooLong: Kind("uri-too-long", 414, "The address is too long"),
    FieldsTooLarge: Kind("header-fields-too-large", 431, "The request's head is too large"),
    UnknownCoding: Kind("transfer-coding-unknown", 501, "The transfer coding is not known"),
    errors.AmbiguousCredentials: Kind(
        "ambiguous-credentials", 400, "Credentials in more than one way"
    ),
    errors.PageTokenInvalid: Kind("page-token-invalid", 400, "The page token is not valid here"),
    errors.Unauthenticated: Kind("unauthenticated", 401, "A valid access token is needed"),
    errors.InsufficientScope: Kind("insufficient-scope", 403, "The token lacks a scope"),
    errors.NotFound: Kind("not-found", 404, "There is nothing of that name here"),
    RightMissing: Kind("right-missing", 403, "The operator's role does not include this"),
    MethodRefused: Kind("method-not-allowed", 405, "The method is not allowed here"),
    errors.TokenTooOld: Kind("token-too-old", 403, "The access token is too old for this"),
    errors.TooManyKeys: Kind("too-many-keys", 409, "There are too many keys"),
    errors.StaleClaim: Kind("stale-claim", 409, "The claim is not the current one"),
    errors.EventFinal: Kind("event-final", 409, "The event is final"),
    errors.IdempotencyInFlight: Kind(
        "idempotency-in-flight", 409, "The first request is still running"
    ),
    errors.CallbackConflict: Kind(
        "callback-conflict", 409, "The callback does not let this be done"
    ),
    errors.TurnConflict: Kind("turn-conflict", 409, "The turn could not be taken"),
    errors.CursorGone: Kind("cursor-gone", 410, "The history of this cursor is gone"),
    errors.VersionConflict: Kind("version-conflict", 412, "The version is another one"),
    BodyTooLarge: Kind("payload-too-large", 413, "Too many bytes"),
    errors.PayloadTooLarge: Kind("payload-too-large", 413, "Too many bytes"),
    UnsupportedMediaType: Kind("unsupported-media-type", 415, "The body must be application/json"),
    errors.ValidationFailed: Kind("validation-error", 422, "The request is not valid"),
    errors.RecipientRefused: Kind("recipient-refused", 422, "A recipient is refused"),
    errors.CallbackRefused: Kind("callback-refused", 422, "The URL is not taken as a callback"),
    errors.ChallengeFailed: Kind(
        "challenge-failed", 422, "The callback did not answer its challenge"
    ),
    errors.IdempotencyKeyReused: Kind(
        "idempotency-key-reused", 422, "The idempotency key was used before"
    ),
    errors.RateLimited: Kind("rate-limited", 429, "Too many requests"),
    errors.InboxFull: Kind("inbox-full", 429, "An inbox is full"),
    InternalError: Kind("internal-error", 500, "Something went wrong here"),
    errors.Overloaded: Kind("overloaded", 503, "The server is overloaded"),
    errors.OutcomeUnknown: Kind("outcome-unknown", 503, "It is not known whether this was done"),
    **{e: Kind(slug, 401, "The signature is not accepted") for e, slug in SIGNATURES.items()},
    **{e: Kind(slug, 400, "The digest of the body is not accepted") for e, slug in DIGESTS.items()},
}
TEXTS.update(SIGNATURE_TEXTS)


def kind_of(error: type[errors.RestanteError]) -> Kind:
    """The kind of problem that an error, or the nearest of its bases, is shown as."""
    for base in error.__mro__:
        if base in KINDS:
            return KINDS[base]
    return KINDS[InternalError]


def members_of(error: errors.RestanteError) -> dict[str, Any]:
    """The problem without what only a whole answer has; results of `settle` hold it."""
    kind = kind_of(type(error))
    return {
        "type": kind.type,
        "title": kind.title,
        "status": kind.status,
        "detail": error.detail,
        **error.members,
    }


def problem_example(kind: Kind) -> dict[str, Any]:
    """One such problem."""
    details = {known.slug: error for error, known in reversed(KINDS.items())}
    return {
        "type": kind.type,
        "title": kind.title,
        "status": kind.status,
        "detail": (details[kind.slug].__doc__ or "").strip().splitlines()[0],
        **TEXTS[kind.slug].members,
        "instance": "/api/v1/events",
        "request_id": "5b0f4f0a8d2e4f8d9a3f0c6b7e1d2c3a",
    }


def problem(
    error: errors.RestanteError, asked: Request, headers: Mapping[str, str] | None = None
) -> Response:
    """The answer that tells of an error."""
    kind = kind_of(type(error))
    members = members_of(error)
    members["instance"] = quote(asked.path, safe="/:@!$&'()*+,;=~")
    members["request_id"] = request_id(asked)
    answer = Response(orjson.dumps(members), kind.status, mimetype=MEDIA_TYPE)
    answer.headers.update(
        {"Cache-Control": "no-store", **_headers(error, kind, asked), **(headers or {})}
    )
    return answer


def _headers(error: errors.RestanteError, kind: Kind, asked: Request) -> dict[str, str]:
    if isinstance(error, SignatureRefused):
        wanted = accept_signature(has_query=has_query(asked.environ))
        return {"WWW-Authenticate": challenge(error), "Accept-Signature": wanted}
    if kind.status in (401, 403):
        return {"WWW-Authenticate": challenge(error)}
    if isinstance(error, errors.RateLimited):
        return {"Retry-After": str(error.retry_after_seconds + random.randint(0, 2))}  # noqa: S311 - jitter
    if kind.status in (429, 503) or isinstance(error, errors.IdempotencyInFlight):
        return {"Retry-After": str(random.randint(1, 4))}  # noqa: S311 - jitter
    return {}


def install(app: Flask) -> None:
    """Show every error of the application as a problem."""
    app.register_error_handler(errors.RestanteError, _refused)
    app.register_error_handler(HTTPException, http_problem)
    app.register_error_handler(Exception, _failed)


def _refused(error: errors.RestanteError) -> Response:
    if kind_of(type(error)).status == 500:
        return _failed(error)
    note_refused(error, request)
    return problem(error, request)


def http_problem(error: HTTPException) -> Response:
    """The problem that tells of an error of the framework."""
    if isinstance(error, MethodNotAllowed):
        return problem(
            MethodRefused(), request, {"Allow": ", ".join(sorted(error.valid_methods or ()))}
        )
    if isinstance(error, RequestEntityTooLarge):
        return problem(BodyTooLarge(), request)
    if error.code == 404:
        return problem(errors.NotFound(), request)
    if error.code == 400:
        return problem(MalformedJson("The request could not be read."), request)
    return _failed(error)


def _failed(error: Exception) -> Response:
    """Nothing of the error leaves the house but the id under which the log has it."""
    if is_lost_connection(error):
        log.warning("request_failed request_id=%s cause=connection_lost", request_id(request))
        return problem(errors.Overloaded("The database did not answer: repeat it."), request)
    log.error("request_failed request_id=%s", request_id(request), exc_info=error)
    return problem(InternalError(), request)


def is_lost_connection(error: Exception) -> bool:
    """The database went away: repeating it later may do."""
    return isinstance(error, DBAPIError) and bool(error.connection_invalidated)

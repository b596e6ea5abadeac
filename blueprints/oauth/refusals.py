"""Errors of the OAuth endpoints: the JSON of RFC 6749, section 5.2, not problems."""

from __future__ import annotations

import orjson
from flask import Blueprint, Response
from werkzeug.exceptions import HTTPException, InternalServerError

from blueprints.principal import REALM
from restante.errors import Overloaded, RateLimited, RestanteError

BASIC_CHALLENGE = f'Basic realm="{REALM}", charset="UTF-8"'


def refusal(error: str, description: str, status: int = 400, **headers: str) -> Response:
    """An error answer; never stored."""
    answer = Response(
        orjson.dumps({"error": error, "error_description": description}),
        status,
        mimetype="application/json",
    )
    answer.headers["Cache-Control"] = "no-store"
    for name, value in headers.items():
        answer.headers[name.replace("_", "-")] = value
    return answer


def refuse_in_json(blueprint: Blueprint) -> None:
    """Have every error of the blueprint's routes answered in that form."""

    @blueprint.errorhandler(RestanteError)
    def _engine(error: RestanteError) -> Response:
        if isinstance(error, RateLimited):
            wait = str(error.retry_after_seconds)
            return refusal("temporarily_unavailable", error.detail, 429, Retry_After=wait)
        status = 503 if isinstance(error, Overloaded) else 500
        return refusal("temporarily_unavailable", error.detail, status, Retry_After="1")

    @blueprint.errorhandler(HTTPException)
    def _http(error: HTTPException) -> Response:
        if isinstance(error, InternalServerError):
            return refusal("server_error", "Something went wrong here.", 500)
        return refusal("invalid_request", error.name, error.code or 400)

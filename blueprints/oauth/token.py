"""POST /oauth/token (RFC 6749, section 3.2)."""

from __future__ import annotations

from flask import Blueprint, Request, Response, request

from blueprints.access import public, states
from blueprints.oauth.basic import read_basic
from blueprints.oauth.refusals import BASIC_CHALLENGE, refusal, refuse_in_json
from blueprints.oauth.server import GRANT_TYPES, answer_token_request
from extensions import house
from restante.identity.failed_attempts import count_failure, refuse_guessers
from restante.storage.transaction import Session

MOST_BYTES = 32 * 1024
_FORM = "application/x-www-form-urlencoded"
_METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

blueprint = Blueprint("oauth_token", __name__)
refuse_in_json(blueprint)


@blueprint.route("/oauth/token", methods=_METHODS)
@states(public("clients authenticate with their secret"))
def token() -> Response:
    """An access token for a client, or why not."""
    if request.method != "POST":
        return refusal("invalid_request", "Tokens are asked for by POST.", 405, Allow="POST")
    request.max_content_length = MOST_BYTES
    fault = fault_of(request)
    if fault is not None:
        return refusal("invalid_request", fault)
    if request.form["grant_type"] not in GRANT_TYPES:
        return refusal("unsupported_grant_type", f"Supported: {', '.join(GRANT_TYPES)}.")
    subjects = _subjects(request)
    answer: Response = house().database.run(lambda session: _answer(session, subjects))
    return answer


def _answer(session: Session, subjects: list[str]) -> Response:
    refuse_guessers(session, subjects)
    answer: Response = answer_token_request(session)
    if answer.status_code == 401:
        answer.headers["WWW-Authenticate"] = BASIC_CHALLENGE
        count_failure(session, subjects)
    return answer


def fault_of(asked: Request) -> str | None:
    """What is wrong with the form of a token request; None: nothing."""
    authorization = asked.headers.get("Authorization", "")
    fault = None
    if asked.query_string:
        fault = "Parameters belong into the body; this address takes no query."
    elif asked.mimetype != _FORM:
        fault = f"The body must be {_FORM}."
    elif any(len(values) > 1 for _, values in asked.form.lists()):
        fault = "A parameter is repeated."
    elif not asked.form.get("grant_type"):
        fault = "grant_type is missing."
    elif "," in authorization:
        fault = "More than one Authorization field."
    elif authorization and {"client_secret", "client_assertion"} & asked.form.keys():
        fault = "The client authenticates in more than one way."
    else:
        sent, named = read_basic(authorization), asked.form.get("client_id")
        if sent and named and named != sent.client_id:
            fault = "client_id names another client than the Authorization field."
    return fault


def _subjects(asked: Request) -> list[str]:
    """What failed authentications of this request are counted for."""
    sent = read_basic(asked.headers.get("Authorization", ""))
    subjects = [f"address:{asked.remote_addr}"]
    return [*subjects, f"client:{sent.client_id}"] if sent else subjects

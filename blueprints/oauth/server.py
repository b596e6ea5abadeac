"""authlib's authorization server, given our clients, our errors and the session of the one unit of work.

What it refuses is an answer, not an exception: the transaction commits, with the failure counted, the
audit written and the family of a stolen refresh token ended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import (
    InvalidClientError,
    OAuth2Request,
    UnsupportedGrantTypeError,
)
from authlib.oauth2.rfc6749.requests import BasicOAuth2Payload
from flask import Response, g, request

from blueprints.oauth.clients import KnownClient, authenticate
from blueprints.oauth.forms import attempt_of, proof_of, refuse_form
from blueprints.oauth.refusals import BASIC_CHALLENGE, refusal
from extensions import house
from restante.identity.token_refusals import (
    note_bad_grant,
    note_failed_client,
    record_refusal,
    refuse_tired,
)
from restante.storage.transaction import Session

TOKEN_PATH = "/oauth/token"


class _Request(OAuth2Request):  # type: ignore[misc] # authlib has no types
    """What authlib reads of the request: its form and fields, at the address that the settings say.

    The `Host` that came along is nobody's address, and behind a proxy the scheme is not the caller's.
    """

    def __init__(self) -> None:
        uri = house().settings.public_url + request.path
        super().__init__(request.method, uri, headers=request.headers)
        self.payload = BasicOAuth2Payload(request.form)

    @property
    def form(self) -> Any:
        return request.form


class _Server(AuthorizationServer):  # type: ignore[misc] # authlib has no types
    def create_oauth2_request(self, asked: object) -> _Request:
        return _Request()

    def authenticate_client(
        self, asked: OAuth2Request, methods: list[str], endpoint: str = "token"
    ) -> KnownClient:
        """One error for an unknown client, a wrong proof and none."""
        issuer = house().settings.public_url
        found = authenticate(
            current_session(),
            proof_of(request),
            methods=methods,
            audiences=(issuer, issuer + TOKEN_PATH),
        )
        if found is None:
            raise InvalidClientError("The client could not be authenticated.", status_code=401)
        asked.client = found
        return found

    def get_token_grant(self, asked: OAuth2Request) -> Any:
        known = [kind.GRANT_TYPE for kind, _ in self._token_grants]
        if asked.payload.grant_type not in known:
            error = UnsupportedGrantTypeError(asked.payload.grant_type)
            error.description = f"Supported: {', '.join(known)}."
            raise error
        return super().get_token_grant(asked)

    def handle_error_response(self, asked: OAuth2Request, error: OAuth2Error) -> Response:
        return _refused(error)


def current_session() -> Session:
    """The session of the unit of work that this request runs in."""
    session: Session = g.session
    return session


def answer(work: Callable[[], Response], *required: str) -> Response:
    """What authlib answers to a proper form with these parameters, in one unit of work."""
    improper = refuse_form(*required)
    if improper is not None:
        return improper
    attempt = attempt_of(request)

    def run(session: Session) -> Response:
        refuse_tired(session, attempt)
        g.session = session
        return work()

    return house().database.run(run)


def _refused(error: OAuth2Error) -> Response:
    """The refusal as an answer, counted and written down."""
    session, attempt = current_session(), attempt_of(request)
    text = error.description or "The request is refused."
    if error.error == "invalid_client":
        note_failed_client(session, attempt)
        return refusal(error.error, text, 401, WWW_Authenticate=BASIC_CHALLENGE)
    if error.error == "invalid_grant":
        note_bad_grant(session, attempt)
    elif error.error in ("invalid_scope", "unauthorized_client"):
        record_refusal(session, attempt.client, error.error, by=attempt.by)
    return refusal(error.error, text, error.status_code)


def _keep_nothing(token: dict[str, Any], request: OAuth2Request) -> None:
    """Access tokens are not kept: every request checks them against their principal."""


server = _Server(save_token=_keep_nothing)

"""authlib's authorization server, given our clients, scopes and tokens."""

from __future__ import annotations

from typing import Any

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, InvalidClientError, InvalidScopeError, OAuth2Request
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant
from flask import g, request

from blueprints.oauth.basic import read_basic
from extensions import house
from restante.identity.credentials import Client, authenticate_client
from restante.identity.grants import grants_of
from restante.identity.projects import projects_of
from restante.identity.requested_scopes import InvalidScope, scopes_for_token
from restante.storage.transaction import Session

AUTH_METHOD = "client_secret_basic"
GRANT_TYPES = (ClientCredentialsGrant.GRANT_TYPE,)


class AuthenticatedClient(ClientMixin):  # type: ignore[misc] # authlib has no types
    """A client that has proved who it is."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == AUTH_METHOD

    def check_grant_type(self, grant_type: str) -> bool:
        return grant_type in GRANT_TYPES


class _Server(AuthorizationServer):  # type: ignore[misc] # authlib has no types
    def authenticate_client(
        self, request: OAuth2Request, methods: list[str], endpoint: str = "token"
    ) -> AuthenticatedClient:
        """The client of the Authorization field; one error for an unknown client and a wrong secret."""
        sent = read_basic(request.headers.get("Authorization", ""))
        client = (
            authenticate_client(current_session(), sent.client_id, sent.client_secret)
            if sent
            else None
        )
        if client is None:
            raise InvalidClientError("The client could not be authenticated.", status_code=401)
        return AuthenticatedClient(client)


class _ClientCredentials(ClientCredentialsGrant):  # type: ignore[misc] # authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = [AUTH_METHOD]

    def validate_requested_scope(self) -> None:
        """Choose the token's scopes; more than granted is refused, never narrowed."""
        session = current_session()
        client: Client = self.request.client.client
        try:
            g.scopes = scopes_for_token(
                self.request.payload.scope,
                client.kind,
                grants=grants_of(session, client.principal_id),
                slugs=projects_of(session, client.tenant_id),
            )
        except InvalidScope as error:
            raise InvalidScopeError(error.detail) from None


def current_session() -> Session:
    """The session of the unit of work that this request runs in."""
    session: Session = g.session
    return session


def answer_token_request(session: Session) -> Any:
    """The answer of authlib to the current request, within the unit of work of this session."""
    g.session = session
    return server.create_token_response(request)


def _make_token(*, client: AuthenticatedClient, **_: Any) -> dict[str, Any]:
    issued = house().token_keys.issue(current_session(), client.client, g.scopes)
    return {
        "access_token": issued.access_token,
        "token_type": "Bearer",
        "expires_in": issued.expires_in_seconds,
        "scope": " ".join(map(str, issued.scopes)),
    }


def _keep_nothing(token: dict[str, Any], request: OAuth2Request) -> None:
    """Access tokens are not kept: every request checks them against their principal."""


server = _Server(save_token=_keep_nothing)
server.register_grant(_ClientCredentials)
server.register_token_generator(ClientCredentialsGrant.GRANT_TYPE, _make_token)

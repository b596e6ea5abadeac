"""The grants of the token endpoint: authlib's classes, our verbs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import AccessDeniedError, InvalidGrantError, InvalidScopeError
from authlib.oauth2.rfc6749.grants import ClientCredentialsGrant, RefreshTokenGrant
from authlib.oauth2.rfc8628 import (
    AuthorizationPendingError,
    DeviceCodeGrant,
    ExpiredTokenError,
    SlowDownError,
)
from flask import request

from blueprints.oauth.clients import ANY, PROVING, KnownClient
from blueprints.oauth.forms import attempt_of
from blueprints.oauth.server import current_session
from extensions import house
from restante.identity.credentials import Client
from restante.identity.device_logins import LoggedIn, Poll, poll
from restante.identity.grants import grants_of
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.refreshing import Refreshed, refresh
from restante.identity.requested_scopes import InvalidScope, scopes_for_token
from restante.identity.scopes import Scope

_WORTHLESS = "The grant is unknown, over, used, revoked or of another client."
_POLLED: dict[Poll, tuple[type[OAuth2Error], str]] = {
    Poll.PENDING: (AuthorizationPendingError, "The operator has not decided yet."),
    Poll.SLOW_DOWN: (SlowDownError, "Asked too soon: wait 5 seconds longer between two requests."),
    Poll.DENIED: (AccessDeniedError, "The operator has refused."),
    Poll.EXPIRED: (ExpiredTokenError, "The code is too old: begin anew."),
    Poll.INVALID: (InvalidGrantError, _WORTHLESS),
}


@dataclass(frozen=True, slots=True)
class _Granted:
    """What a token is made of; the credential whose end ends it is `client.credential_id`."""

    client: Client
    scopes: Iterable[Scope]
    name: str
    refresh_token: str | None = field(default=None, repr=False)

    def check_client(self, client: KnownClient) -> bool:
        # the verb has looked
        return True

    def get_client_id(self) -> str:
        return self.name

    def get_scope(self) -> str:
        return " ".join(sorted(map(str, self.scopes)))


class _Issues:
    """Has the token made from what was granted."""

    granted: _Granted
    request: Any

    def generate_token(self, **_: Any) -> dict[str, Any]:
        """The answer's members (RFC 6749, section 5.1)."""
        granted = self.granted
        issued = house().token_keys.issue(current_session(), granted.client, granted.scopes)
        made = {
            "access_token": issued.access_token,
            "token_type": "Bearer",
            "expires_in": issued.expires_in_seconds,
            "scope": " ".join(map(str, issued.scopes)),
        }
        return (
            made
            if granted.refresh_token is None
            else made | {"refresh_token": granted.refresh_token}
        )

    def login(self, found: LoggedIn | Refreshed) -> _Granted:
        """A token of a login ends with its family."""
        client = Client(found.principal_id, found.tenant_id, PrincipalKind.AGENT, found.family_id)
        name = self.request.client.name
        self.granted = _Granted(client, found.scopes, name, found.refresh_token)
        return self.granted


class _ClientCredentials(_Issues, ClientCredentialsGrant):  # type: ignore[misc] # no types
    TOKEN_ENDPOINT_AUTH_METHODS = PROVING

    def validate_requested_scope(self) -> None:
        """Choose the token's scopes; more than granted is refused, never narrowed."""
        session = current_session()
        client: Client = self.request.client.proof
        try:
            scopes = scopes_for_token(
                self.request.payload.scope,
                client.kind,
                grants=grants_of(session, client.principal_id),
                slugs=projects_of(session, client.tenant_id),
            )
        except InvalidScope as error:
            raise InvalidScopeError(error.detail) from None
        self.granted = _Granted(client, scopes, self.request.client.name)


class _Refresh(_Issues, RefreshTokenGrant):  # type: ignore[misc] # authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = ANY
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, presented: str) -> _Granted:
        try:
            found = refresh(
                current_session(),
                presented,
                client=self.request.client.name,
                asked=self.request.payload.scope,
                tokens=house().refresh_tokens,
                by=self.request.client.origin(attempt_of(request)),
            )
        except InvalidScope as error:
            raise InvalidScopeError(error.detail) from None
        if found is None:
            raise InvalidGrantError(_WORTHLESS)
        return self.login(found)

    def _validate_token_scope(self, token: _Granted) -> None:
        """The verb has looked, before it spent anything."""

    def authenticate_user(self, token: _Granted) -> _Granted:
        return token

    def revoke_old_credential(self, token: _Granted) -> None:
        """It is spent already."""


class _DeviceCode(_Issues, DeviceCodeGrant):  # type: ignore[misc] # authlib has no types
    TOKEN_ENDPOINT_AUTH_METHODS = ANY

    def query_device_credential(self, device_code: str) -> _Granted:
        found = poll(
            current_session(),
            device_code,
            client=self.request.client.name,
            by=self.request.client.origin(attempt_of(request)),
        )
        if isinstance(found, Poll):
            kind, text = _POLLED[found]
            raise kind(text)
        return self.login(found)

    def validate_device_credential(self, credential: _Granted) -> _Granted:
        return credential


GRANTS = (_ClientCredentials, _Refresh, _DeviceCode)
GRANT_TYPES: tuple[str, ...] = tuple(grant.GRANT_TYPE for grant in GRANTS)

"""POST /oauth/introspect (RFC 7662)."""

from __future__ import annotations

from typing import Any

from authlib.oauth2.rfc6749 import OAuth2Request
from authlib.oauth2.rfc7662 import IntrospectionEndpoint
from flask import Blueprint, Response

from blueprints.access import public, states
from blueprints.oauth.clients import PROVING, KnownClient
from blueprints.oauth.forms import METHODS
from blueprints.oauth.refusals import refuse_in_json
from blueprints.oauth.server import answer, current_session, server
from extensions import house
from restante.identity.introspecting import Active, introspect

PATH = "/oauth/introspect"
NAME = IntrospectionEndpoint.ENDPOINT_NAME
blueprint = Blueprint("oauth_introspection", __name__)
refuse_in_json(blueprint)


class _Introspection(IntrospectionEndpoint):  # type: ignore[misc] # authlib has no types
    # a public client has been told all that there is to say when it got the token
    CLIENT_AUTH_METHODS = PROVING

    def authenticate_token(self, request: OAuth2Request, client: KnownClient) -> Active | None:
        here = house()
        return introspect(
            current_session(),
            request.form["token"],
            client=client.proof,
            name=client.name,
            keys=here.token_keys,
            authority=here.authority,
        )

    def create_introspection_payload(self, token: Active | None) -> dict[str, Any]:
        """The members of RFC 7662, section 2.2; of what is not active nothing is said."""
        if token is None:
            return {"active": False}
        issuer = house().settings.public_url
        told = {
            "active": True,
            "scope": " ".join(sorted(map(str, token.scopes))),
            "client_id": token.client,
            "sub": token.subject,
            "iss": issuer,
            "iat": token.issued_at,
            "exp": token.expires_at,
        }
        if token.token_id is None:
            return told
        return told | {"aud": issuer, "jti": token.token_id, "token_type": "Bearer"}


server.register_endpoint(_Introspection)


@blueprint.route(PATH, methods=METHODS)
@states(public("a client proves itself and asks about its own tokens"))
def introspection() -> Response:
    """What a token is good for now, or that it is not active."""
    return answer(lambda: server.create_endpoint_response(NAME), "token")

"""POST /oauth/revoke (RFC 7009)."""

from __future__ import annotations

from authlib.oauth2.rfc6749 import OAuth2Request
from authlib.oauth2.rfc7009 import RevocationEndpoint
from flask import Blueprint, Response, request

from blueprints.access import public, states
from blueprints.oauth.clients import ANY, KnownClient
from blueprints.oauth.forms import METHODS, attempt_of
from blueprints.oauth.refusals import refuse_in_json
from blueprints.oauth.server import answer, current_session, server
from extensions import house
from restante.bridges.a2a_tokens import Receivers
from restante.identity.held_tokens import Holder
from restante.identity.revoking import revoke
from restante.storage.transaction import after_commit

PATH = "/oauth/revoke"
NAME = RevocationEndpoint.ENDPOINT_NAME
blueprint = Blueprint("oauth_revocation", __name__)
refuse_in_json(blueprint)


class _Revocation(RevocationEndpoint):  # type: ignore[misc] # authlib has no types
    CLIENT_AUTH_METHODS = ANY

    def authenticate_token(self, asked: OAuth2Request, client: KnownClient) -> bytes | None:
        """The principal whose token was ended. What is none of the client's own is not there."""
        session, here = current_session(), house()
        # the hint is not needed: both kinds are told apart by what they are
        found = revoke(
            session,
            asked.form["token"],
            holder=Holder(client.name, client.proved),
            keys=here.token_keys,
            lender=Receivers(here.settings.secret_keys).lender,
            by=client.origin(attempt_of(request)),
        )
        if found is not None:
            # this process need not wait until what it knows of him is too old
            after_commit(session, lambda: here.authority.expire(found))
        return found

    def revoke_token(self, token: bytes, asked: OAuth2Request) -> None:
        """It is ended already."""


server.register_endpoint(_Revocation)


@blueprint.route(PATH, methods=METHODS)
@states(public("a client gives back what it has, and names or proves itself in the form"))
def revocation() -> Response:
    """200 whether or not there was such a token."""
    return answer(lambda: server.create_endpoint_response(NAME), "token")

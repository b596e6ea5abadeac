"""POST /oauth/token (RFC 6749, section 3.2)."""

from __future__ import annotations

from flask import Blueprint, Response

from blueprints.access import public, states
from blueprints.oauth.forms import METHODS
from blueprints.oauth.grants import GRANTS
from blueprints.oauth.refusals import refuse_in_json
from blueprints.oauth.server import TOKEN_PATH, answer, server

blueprint = Blueprint("oauth_token", __name__)
refuse_in_json(blueprint)
for _grant in GRANTS:
    server.register_grant(_grant)


@blueprint.route(TOKEN_PATH, methods=METHODS)
@states(public("clients prove themselves, or bring what proves them"))
def token() -> Response:
    """An access token for a client, or why not."""
    return answer(server.create_token_response, "grant_type")

"""POST /oauth/device_authorization (RFC 8628, section 3.1): a device begins to log in."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from authlib.consts import default_json_headers
from authlib.oauth2.rfc6749 import InvalidClientError, InvalidScopeError, OAuth2Request
from authlib.oauth2.rfc8628 import DeviceAuthorizationEndpoint
from flask import Blueprint, Response, request

from blueprints.access import public, states
from blueprints.oauth.clients import ANY
from blueprints.oauth.forms import METHODS, attempt_of
from blueprints.oauth.refusals import refuse_in_json
from blueprints.oauth.server import answer, current_session, server
from extensions import house
from restante.identity.device_logins import start
from restante.identity.requested_scopes import InvalidScope
from restante.identity.token_refusals import count_device

PATH = "/oauth/device_authorization"
NAME = DeviceAuthorizationEndpoint.ENDPOINT_NAME
blueprint = Blueprint("oauth_device", __name__)
refuse_in_json(blueprint)


class _DeviceAuthorization(DeviceAuthorizationEndpoint):  # type: ignore[misc] # no types
    CLIENT_AUTH_METHODS = ANY

    def create_endpoint_response(
        self, asked: OAuth2Request
    ) -> tuple[int, dict[str, Any], list[tuple[str, str]]]:
        client = self.authenticate_client(asked)
        return 200, _begin(client.name), default_json_headers


def _begin(client: str) -> dict[str, Any]:
    session, attempt = current_session(), attempt_of(request)
    count_device(session, attempt)
    try:
        begun = start(
            session,
            client,
            asked=request.form.get("scope"),
            host=request.form.get("host"),
            user_agent=request.headers.get("User-Agent"),
            address=attempt.by.address,
        )
    except InvalidScope as error:
        raise InvalidScopeError(error.detail) from None
    if begun is None:
        raise InvalidClientError("The client could not be authenticated.", status_code=401)
    page = f"{house().settings.public_url}/device"
    return {
        "device_code": begun.device_code,
        "user_code": begun.user_code,
        "verification_uri": page,
        "verification_uri_complete": f"{page}?{urlencode({'user_code': begun.user_code})}",
        "expires_in": begun.expires_in_seconds,
        "interval": begun.interval_seconds,
    }


server.register_endpoint(_DeviceAuthorization)


@blueprint.route(PATH, methods=METHODS)
@states(public("a device that has no token yet begins here"))
def device_authorization() -> Response:
    """Codes for a device, and where an operator says yes to it."""
    return answer(lambda: server.create_endpoint_response(NAME))

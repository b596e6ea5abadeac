"""What the server says about itself: RFC 8414 metadata and its key set. Addresses come from settings."""

from __future__ import annotations

from typing import Any

import orjson
from flask import Blueprint, Response

from blueprints.access import public, states
from blueprints.oauth import device, introspection, revocation
from blueprints.oauth.clients import ANY, PROVING
from blueprints.oauth.grants import GRANT_TYPES
from blueprints.oauth.refusals import refuse_in_json
from blueprints.oauth.server import TOKEN_PATH
from extensions import house
from restante.identity.assertions import ALGORITHMS

CACHE_SECONDS = 300

blueprint = Blueprint("oauth_discovery", __name__)
refuse_in_json(blueprint)


@blueprint.get("/.well-known/oauth-authorization-server")
@states(public("clients find the endpoints here"))
def metadata() -> Response:
    """Exactly what works."""
    issuer = house().settings.public_url
    algorithms = list(ALGORITHMS.values())
    return _document(
        {
            "issuer": issuer,
            "token_endpoint": issuer + TOKEN_PATH,
            "device_authorization_endpoint": issuer + device.PATH,
            "revocation_endpoint": issuer + revocation.PATH,
            "introspection_endpoint": issuer + introspection.PATH,
            "jwks_uri": f"{issuer}/oauth/jwks.json",
            "grant_types_supported": list(GRANT_TYPES),
            "response_types_supported": [],
            "token_endpoint_auth_methods_supported": list(ANY),
            "token_endpoint_auth_signing_alg_values_supported": algorithms,
            "revocation_endpoint_auth_methods_supported": list(ANY),
            "revocation_endpoint_auth_signing_alg_values_supported": algorithms,
            "introspection_endpoint_auth_methods_supported": list(PROVING),
            "introspection_endpoint_auth_signing_alg_values_supported": algorithms,
            "service_documentation": f"{issuer}/api/docs",
        }
    )


@blueprint.get("/oauth/jwks.json")
@states(public("public keys"))
def key_set() -> Response:
    """The public keys whose tokens are taken now (RFC 7517)."""
    here = house()
    return _document(here.database.run(here.token_keys.public_key_set))


def _document(content: dict[str, Any]) -> Response:
    answer = Response(orjson.dumps(content), mimetype="application/json")
    answer.headers["Cache-Control"] = f"public, max-age={CACHE_SECONDS}"
    return answer

"""The metadata (RFC 8414) and the key set (RFC 7517)."""

from __future__ import annotations

import pytest

from restante.storage.tables.identity import token_key
from tests.oauth.conftest import ISSUER, Server, make_app


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "http"},
        {"Forwarded": "host=evil.example"},
    ],
)
def test_addresses_come_from_the_settings(server: Server, headers: dict[str, str]) -> None:
    """JO-102."""
    told = server.client.get("/.well-known/oauth-authorization-server", headers=headers)
    assert told.json["issuer"] == ISSUER
    assert b"evil" not in told.data
    assert all(
        v.startswith(ISSUER) for k, v in told.json.items() if k.endswith(("_endpoint", "_uri"))
    )
    assert b"evil" not in server.client.get("/oauth/jwks.json", headers=headers).data


def test_the_metadata_says_what_works_and_no_more(server: Server) -> None:
    """JO-105: every grant, method and endpoint that is named is tried by the tests of this folder."""
    told = server.client.get("/.well-known/oauth-authorization-server").json
    assert told["grant_types_supported"] == [
        "client_credentials",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
    ]
    methods = ["client_secret_basic", "private_key_jwt", "none"]
    assert told["token_endpoint_auth_methods_supported"] == methods
    assert told["revocation_endpoint_auth_methods_supported"] == methods
    assert told["introspection_endpoint_auth_methods_supported"] == methods[:2]
    algorithms = [value for name, value in told.items() if "_alg_" in name]
    assert algorithms == [["EdDSA", "ES256", "PS512"]] * 3
    endpoints = {name: url for name, url in told.items() if name.endswith("_endpoint")}
    assert len(endpoints) == 4
    for url in endpoints.values():
        answer = server.client.post(
            url.removeprefix(ISSUER), data={"grant_type": "x", "token": "x"}
        )
        assert answer.status_code in (400, 401)


def test_the_key_set_holds_public_keys_only(server: Server) -> None:
    """JO-103."""
    answer = server.client.get("/oauth/jwks.json")
    assert answer.status_code == 200
    keys = answer.json["keys"]
    assert len({key["kid"] for key in keys}) == len(keys) == 1
    for key in keys:
        assert key["kty"] == "OKP"
        assert (key["alg"], key["use"]) == ("EdDSA", "sig")
        assert not {"d", "p", "q", "dp", "dq", "qi", "k"} & key.keys()


def test_every_worker_signs_with_the_one_key_that_the_first_made(server: Server) -> None:
    kids = {key["kid"] for key in server.client.get("/oauth/jwks.json").json["keys"]}
    second = make_app(server.database).test_client()
    assert {key["kid"] for key in second.get("/oauth/jwks.json").json["keys"]} == kids


def test_private_keys_are_sealed_in_the_database(server: Server) -> None:
    public = server.client.get("/oauth/jwks.json").json["keys"][0]
    with server.database.engine.connect() as connection:
        row = connection.execute(token_key.select()).one()
    assert row.kid == public["kid"]
    assert b'"d"' not in row.private_sealed
    assert b"OKP" not in row.private_sealed
    assert '"d"' not in row.public_jwk

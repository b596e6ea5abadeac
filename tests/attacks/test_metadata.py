"""What the server says of itself under attack (JO-102 to JO-105)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from restante.audit.entries import IN_PROCESS
from restante.identity.key_rotation import remove, rotate
from restante.storage.clock import database_now
from restante.storage.tables.identity import token_key
from tests.attacks.arena import Attacker, Tenant
from tests.attacks.clients import algorithm, keyed
from tests.attacks.logins import begin, log_in, poll, refresh
from tests.attacks.operators import new_operator
from tests.attacks.wire import new_address
from tests.oauth.forging import header_of
from tests.support.serving import SECRET_KEY
from tests.support.waiting import wait_until

METADATA = "/.well-known/oauth-authorization-server"
KEYS = "/oauth/jwks.json"


def told(who: Attacker) -> dict[str, Any]:
    return dict(who.wire.send("GET", METADATA).json)


@pytest.mark.parametrize(
    "fields",
    [
        {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"},
        {"Forwarded": "host=evil.example;proto=https"},
        {"X-Original-URL": "https://evil.example/"},
    ],
)
def test_jo_102_the_host_of_somebody_else(alice: Attacker, fields: dict[str, str]) -> None:
    issuer = alice.arena.issuer
    for target in (METADATA, KEYS):
        answer = alice.wire.send("GET", target, fields)
        assert b"evil" not in answer.body
    addresses = {
        k: v for k, v in told(alice).items() if k.endswith(("_endpoint", "_uri", "issuer"))
    }
    assert len(addresses) == 6
    assert all(value.startswith(issuer) for value in addresses.values())
    for host in (b"evil.example", b"evil.example:443", b"[", b"", b"evil.example, x"):
        for target in (METADATA, KEYS):
            text = b"GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"
            status, got = alice.wire.raw(text % (target.encode(), host))
            assert status in (200, 400, 421)
            assert b"evil" not in got
    form = f"client_id={alice.id}".encode()
    head = (
        "POST /oauth/device_authorization HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n"
        f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(form)}\r\n\r\n"
    )
    status, got = alice.wire.raw(head.encode() + form)
    assert status in (200, 400, 421)
    assert b"evil" not in got


def test_jo_103_the_key_set(alice: Attacker) -> None:
    keys = alice.wire.send("GET", KEYS).json["keys"]
    assert len({key["kid"] for key in keys}) == len(keys) >= 1
    for key in keys:
        assert key["kty"] != "oct"
        assert (key["alg"], key["use"]) == ("EdDSA", "sig")
        assert not {"d", "p", "q", "dp", "dq", "qi", "k"} & key.keys()
    assert header_of(alice.token)["kid"] in {key["kid"] for key in keys}


def kids(who: Attacker) -> set[str]:
    return {key["kid"] for key in who.wire.send("GET", KEYS).json["keys"]}


def ends(who: Attacker) -> None:
    wait_until(
        lambda: all(who.stats().is_invalid_token for _ in range(12)),
        "every worker to refuse tokens of the key that is gone",
    )


def test_jo_104_rotation(alice: Attacker) -> None:
    """The successor is published before it signs, the old key verifies on; then it is gone.

    One that has to go ends at once. What time does is done to the rows of the keys.
    """
    arena, secret_keys = alice.arena, [SECRET_KEY]
    old = header_of(alice.token)["kid"]
    arena.run(lambda s: rotate(s, secret_keys, by=IN_PROCESS))
    published = kids(alice)
    assert len(published) > 1
    assert old in published
    assert header_of(alice.signed_in().token)["kid"] == old
    now, row = arena.run(database_now), token_key.update().where(token_key.c.kid == old)
    arena.change(row.values(signs_until=now - timedelta(seconds=1)))
    newer = alice.signed_in()
    assert header_of(newer.token)["kid"] in published - {old}
    for _ in range(6):
        assert (alice.stats().status, newer.stats().status) == (200, 200)
    arena.change(row.values(verifies_until=now - timedelta(seconds=1)))
    ends(alice)
    assert old not in kids(alice)
    assert newer.stats().status == 200
    arena.run(lambda s: remove(s, header_of(newer.token)["kid"], secret_keys, by=IN_PROCESS))
    ends(newer)
    assert not published & kids(alice)
    assert alice.signed_in().stats().status == 200


def test_jo_105_what_is_said_works_and_no_more(acme: Tenant) -> None:
    """Each grant, method, algorithm and endpoint of the metadata, by using it."""
    one = acme.agent("agent:a:read")
    one.address = new_address()
    said = told(one)
    issuer = one.arena.issuer
    assert said["response_types_supported"] == []
    assert said["grant_types_supported"] == [
        "client_credentials",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
    ]
    assert one.ask().status == 200
    login = log_in(one)
    assert refresh(one, login["refresh_token"]).status == 200
    begun = begin(one)
    assert begun["verification_uri"] == f"{issuer}/device"
    assert new_operator(acme).approve(begun["user_code"]).status == 200
    assert poll(one, begun["device_code"]).status == 200
    for grant in ("password", "implicit", "urn:ietf:params:oauth:grant-type:jwt-bearer"):
        assert grant not in said["grant_types_supported"]
        assert one.ask(grant_type=grant).error == "400 unsupported_grant_type"
    # methods: the two that prove, and none for what proves itself
    methods = ["client_secret_basic", "private_key_jwt", "none"]
    assert said["token_endpoint_auth_methods_supported"] == methods
    assert said["revocation_endpoint_auth_methods_supported"] == methods
    assert said["introspection_endpoint_auth_methods_supported"] == methods[:2]
    posted = one.wire.form(
        "/oauth/token",
        grant_type="client_credentials",
        client_id=one.id,
        client_secret=one.secret,
    )
    assert posted.error == "401 invalid_client"
    for name, algorithms in said.items():
        if "_alg_" in name:
            assert algorithms == ["EdDSA", "ES256", "PS512"], name
    made = (
        ed25519.Ed25519PrivateKey.generate(),
        ec.generate_private_key(ec.SECP256R1()),
        rsa.generate_private_key(65537, 2048),
    )
    for key in made:
        client = keyed(one, key)
        assert algorithm(key) in said["token_endpoint_auth_signing_alg_values_supported"]
        assert client.prove().status == 200
    # endpoints: there, and nothing else is
    named = {url.removeprefix(issuer) for name, url in said.items() if name.endswith("_endpoint")}
    for path in named:
        assert one.wire.form(path, x="y").status in (400, 401)
    for path in ("/oauth/authorize", "/oauth/register", "/oauth/userinfo"):
        assert path not in named
        assert one.wire.form(path, x="y").status == 404

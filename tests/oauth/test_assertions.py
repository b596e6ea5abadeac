"""Client assertions (RFC 7523), as a verb of the engine."""

from __future__ import annotations

import json
from datetime import UTC
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc.jwk import OKPKey

from restante.identity.assertions import authenticate_by_assertion
from restante.identity.client_keys import add_client_key
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from tests.oauth.conftest import ISSUER, public_id
from tests.oauth.forging import encode
from tests.oauth.logging_in import Login

KEY = Ed25519PrivateKey.generate()
ENDPOINT = f"{ISSUER}/oauth/token"


def assertion(login: Login, *, header: dict[str, Any] | None = None, **claims: Any) -> str:
    now = int(login.run(database_now).replace(tzinfo=UTC).timestamp())
    told: dict[str, Any] = {
        "iss": public_id(login.bob),
        "sub": public_id(login.bob),
        "aud": ENDPOINT,
        "jti": new_id().hex(),
        "iat": now,
        "exp": now + 60,
    }
    told |= {k: v(now) if callable(v) else v for k, v in claims.items()}
    told = {k: v for k, v in told.items() if v is not None}
    parts = [json.dumps({"alg": "EdDSA", **(header or {})}).encode(), json.dumps(told).encode()]
    message = ".".join(map(encode, parts))
    return f"{message}.{encode(KEY.sign(message.encode()))}"


def authenticated(login: Login, sent: str) -> bool:
    audiences = (ISSUER, ENDPOINT)
    return bool(login.run(lambda s: authenticate_by_assertion(s, sent, audiences=audiences)))


@pytest.fixture
def keyed(login: Login) -> Login:
    public = OKPKey.import_key(KEY.public_key()).as_dict(private=False)
    login.run(lambda s: add_client_key(s, login.bob.id, public))
    return login


def test_an_assertion_is_good_once(keyed: Login) -> None:
    """JO-085."""
    sent = assertion(keyed)
    assert authenticated(keyed, sent)
    assert not authenticated(keyed, sent)
    assert authenticated(keyed, assertion(keyed, aud=[ISSUER], header={"jku": "https://x.example"}))


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "https://other.example"},
        {"aud": "http://mail.example/oauth/token"},
        {"aud": []},
        {"aud": None},
        {"exp": None},
        {"exp": lambda now: now + 86_400},
        {"exp": lambda now: now},
        {"exp": "9999999999"},
        {"exp": 1e300},
        {"iat": lambda now: now - 3600},
        {"nbf": lambda now: now + 600},
        {"iss": "agt_" + "0" * 32},
        {"iss": "agt_" + "0" * 32, "sub": "agt_" + "0" * 32},
        {"sub": None},
        {"sub": 5},
        {"jti": None},
        {"jti": "x" * 300},
        {"jti": 7},
    ],
)
def test_an_assertion_that_does_not_hold(keyed: Login, claims: dict[str, Any]) -> None:
    """JO-084, JO-086, JO-087, JO-088."""
    assert not authenticated(keyed, assertion(keyed, **claims))


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none"},
        {"alg": "HS256"},
        {"alg": "ES256"},
        {"alg": 5},
        {"typ": "at+jwt"},
        {"typ": 5},
        {"kid": "another"},
        {"kid": ["x"]},
        {"crit": ["x"], "x": 1},
    ],
)
def test_an_assertion_with_another_header(keyed: Login, header: dict[str, Any]) -> None:
    """JO-032, JO-089."""
    assert not authenticated(keyed, assertion(keyed, header=header))


def test_rubbish_and_depth(keyed: Login) -> None:
    """JO-090."""
    deep = b'{"x":' + b"[" * 2000 + b"]" * 2000 + b"}"
    good = assertion(keyed)
    head, body, _ = good.split(".")
    for bad in (
        "",
        "..",
        "a.b",
        "\xff.\xff.\xff",
        f"{head}.{encode(deep)}.AAAA",
        f"{encode(deep)}.{body}.AAAA",
        good[:-4] + "AAAA",
        good + "=",
        "A" * 10_000,
    ):
        assert not authenticated(keyed, bad)

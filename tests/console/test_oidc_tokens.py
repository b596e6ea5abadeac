"""ID tokens that do not hold: claims, algorithms, keys. Each is a page, and lets nobody in."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, RSAKey

from restante.audit.listing import list_entries
from tests.console.oidc_fixtures import provider, settings, visitor, world  # noqa: F401 - fixtures
from tests.console.rogue_provider import CLIENT_ID, CLIENT_SECRET, RogueProvider
from tests.console.visitor import Visitor, invited
from tests.http.world import World

# ruff: noqa: F811 - fixtures are arguments


@pytest.fixture(autouse=True)
def who(world: World) -> None:
    invited(world)


def last_reason(world: World) -> str:
    return str(world.house.database.run(lambda s: list_entries(s, None, limit=1)).entries[0].reason)


def part(content: Any) -> str:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()


HOUR = timedelta(hours=1)  # from now on


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"aud": "somebody-else"},
        {"aud": None},
        {"aud": []},
        {"aud": [CLIENT_ID, "somebody-else"]},
        {"aud": [CLIENT_ID, "somebody-else"], "azp": "somebody-else"},
        {"azp": "somebody-else"},
        {"sub": None},
        {"sub": ""},
        {"sub": 1},
        {"sub": "s" * 256},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": -HOUR},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": True},
        {"iat": None},
        {"iat": -HOUR},
        {"iat": HOUR},
        {"nbf": HOUR},
        {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
    ],
    ids=str,
)
def test_claims_that_do_not_hold(visitor: Visitor, world: World, claims: dict[str, object]) -> None:
    refused = visitor.sign_in(**claims)
    assert refused.status_code == 400
    assert "does not hold" in refused.text
    assert not visitor.is_in()
    assert last_reason(world).startswith("the provider's answer does not hold: ")


def test_several_audiences_do_with_azp(visitor: Visitor) -> None:
    assert visitor.sign_in(aud=[CLIENT_ID, "another"], azp=CLIENT_ID).status_code == 303


Make = Callable[[RogueProvider, dict[str, Any]], str]


def _unsigned(provider: RogueProvider, claims: dict[str, Any]) -> str:
    return f"{part({'alg': 'none'})}.{part(claims)}."


def _by_secret(provider: RogueProvider, claims: dict[str, Any]) -> str:
    key = OctKey.import_key(CLIENT_SECRET.ljust(32, "."))
    return jws.serialize_compact({"alg": "HS256"}, json.dumps(claims), key, algorithms=["HS256"])


def _by_public_key(provider: RogueProvider, claims: dict[str, Any]) -> str:
    """Key confusion: the public key's PEM as a secret."""
    signed = f"{part({'alg': 'HS256', 'kid': provider.kid})}.{part(claims)}"
    secret = provider.key.as_pem(private=False)
    return f"{signed}.{part(hmac.digest(secret, signed.encode(), 'sha256'))}"


def _by_own_key(provider: RogueProvider, claims: dict[str, Any]) -> str:
    """The attacker's key in the header."""
    own = RSAKey.generate_key(2048)
    header = {"alg": "RS256", "kid": provider.kid, "jwk": own.as_dict(private=False)}
    return jws.serialize_compact(header, json.dumps(claims), own, algorithms=["RS256"])


def _by_unknown_key(provider: RogueProvider, claims: dict[str, Any]) -> str:
    own = RSAKey.generate_key(2048)
    return jws.serialize_compact({"alg": "RS256", "kid": "x"}, json.dumps(claims), own)


def _by_unsaid_algorithm(provider: RogueProvider, claims: dict[str, Any]) -> str:
    return provider.sign(claims, alg="PS256")


def _as_access_token(provider: RogueProvider, claims: dict[str, Any]) -> str:
    return provider.sign(claims, typ="at+jwt")


def _critical(provider: RogueProvider, claims: dict[str, Any]) -> str:
    signed = provider.sign(claims)
    head = part({"alg": "RS256", "kid": provider.kid, "crit": ["x"], "x": 1})
    return f"{head}.{signed.split('.', 1)[1]}"


def _altered(provider: RogueProvider, claims: dict[str, Any]) -> str:
    head, _, signature = provider.sign(claims).split(".")
    return f"{head}.{part({**claims, 'email': 'root@example.com'})}.{signature}"


def _twice(provider: RogueProvider, claims: dict[str, Any]) -> str:
    """One member twice, rightly signed."""
    text = json.dumps(claims)[:-1] + f', "sub": {json.dumps(claims["sub"])}}}'
    header = {"alg": "RS256", "kid": provider.kid}
    return jws.serialize_compact(header, text, provider.key)


def _deep(provider: RogueProvider, claims: dict[str, Any]) -> str:
    return f"{part(b'[' * 5000)}.{part(claims)}.{part(b'x')}"


def _huge(provider: RogueProvider, claims: dict[str, Any]) -> str:
    return provider.sign({**claims, "x": "x" * 100_000})


@pytest.mark.parametrize(
    "make",
    [
        *(_unsigned, _by_secret, _by_public_key, _by_own_key, _by_unknown_key),
        *(_by_unsaid_algorithm, _as_access_token, _critical, _altered, _twice, _deep, _huge),
        *("", ".", "..", "a.b.c", "é.é.é", "x" * 100),
    ],
)
def test_tokens_that_do_not_hold(visitor: Visitor, provider: RogueProvider, make: Make) -> None:
    refused = visitor.sign_in(
        make=lambda claims: make if isinstance(make, str) else make(provider, claims)
    )
    assert refused.status_code == 400, refused.text
    assert not visitor.is_in()


def test_a_key_of_another_kind_or_use_signs_nothing(
    visitor: Visitor, provider: RogueProvider
) -> None:
    good = provider.jwk(provider.key, provider.kid)
    short = RSAKey.generate_key(1024)
    for keys in (
        [],
        [{**good, "use": "enc"}],
        [{**good, "alg": "RS512"}],
        [{"kty": "oct", "k": "c2VjcmV0", "kid": provider.kid}],
        [{"kty": "RSA", "kid": provider.kid}],
        [{"kty": "RSA", "kid": provider.kid, "n": 1, "e": []}],
        [provider.jwk(ECKey.generate_key("P-256"), provider.kid)],
        [provider.jwk(short, provider.kid)],
        [good, good],
        ["nonsense", None],
    ):
        provider.keys = keys
        visitor.client.application.extensions["restante"].entrance.provider._keys.held = None
        assert visitor.sign_in().status_code == 400, keys
    assert not visitor.is_in()


def test_a_new_key_is_fetched_once_in_a_while(
    visitor: Visitor, world: World, provider: RogueProvider
) -> None:
    kept = world.house.entrance.provider._keys
    clock = [1000.0]
    kept._monotonic = lambda: clock[0]
    assert visitor.sign_in().status_code == 303
    provider.key, provider.kid = RSAKey.generate_key(2048), "second"
    provider.keys = [provider.jwk(provider.key, "second")]
    assert visitor.sign_in().status_code == 400  # asked for keys just now
    clock[0] += 31
    assert visitor.sign_in().status_code == 303
    assert provider.calls.count("/jwks") == 2
    for _ in range(3):
        visitor.sign_in(make=lambda claims: _by_unknown_key(provider, claims))
    assert provider.calls.count("/jwks") == 2

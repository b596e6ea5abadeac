"""private_key_jwt under attack (JO-084 to JO-092)."""

from __future__ import annotations

import hmac
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from restante.identity.assertions import MOST_LIFE_SECONDS, SKEW_SECONDS, TYPE
from restante.identity.failed_attempts import MOST_FAILURES
from tests.attacks.arena import Attacker, Tenant, unknown_id
from tests.attacks.clients import Keyed, keyed, present
from tests.attacks.wire import FORM, new_address
from tests.oauth.forging import encode

INVALID = "401 invalid_client"
COPIES = 8


@pytest.fixture
def carol(acme: Tenant) -> Keyed:
    """An agent with a registered key."""
    one = acme.agent()
    one.address = new_address()
    return keyed(one)


def elsewhere(carol: Keyed) -> Keyed:
    """From an address that nothing was counted for."""
    carol.who.address = new_address()
    return carol


def test_jo_084_for_another_audience(carol: Keyed) -> None:
    issuer = carol.who.arena.issuer
    for aud in (
        *("https://other.example", f"{issuer}/", carol.token_endpoint.replace("http:", "https:")),
        *(f"{issuer}/oauth/revoke", f"{carol.token_endpoint}?x", issuer.upper()),
        *([carol.token_endpoint, "https://other.example"], [], None, 1, {"a": 1}),
    ):
        assert carol.prove(carol.assertion(aud=aud)).error == INVALID, aud
    for good in (issuer, [issuer], carol.token_endpoint, [issuer, carol.token_endpoint]):
        assert carol.prove(carol.assertion(aud=good)).status == 200


def test_jo_085_one_twice(carol: Keyed) -> None:
    """Also when all come at one moment: exactly one is taken."""
    once = carol.assertion()
    assert carol.prove(once).status == 200
    assert carol.prove(once).error == INVALID
    copies = carol.assertion()
    with ThreadPoolExecutor(COPIES) as pool:
        answers = list(pool.map(carol.prove, [copies] * COPIES))
    assert Counter(answer.status for answer in answers) == {200: 1, 401: COPIES - 1}
    # another assertion with the same jti, and the same one in a request for something else
    same = carol.assertion(jti="the-same-jti-again")
    assert carol.prove(same, scope="agent:b:read").error == "400 invalid_scope"
    assert carol.prove(same).error == INVALID
    assert carol.prove(carol.assertion(jti="the-same-jti-again")).error == INVALID


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": None},
        {"exp": lambda now: now + 86_400},
        {"exp": lambda now: now + MOST_LIFE_SECONDS + 5},
        {"iat": lambda now: now + SKEW_SECONDS - 5, "exp": lambda now: now + 400},
        {"exp": lambda now: now - 1},
        {"iat": lambda now: now - 3600},
        {"iat": lambda now: now + 600, "exp": lambda now: now + 660},
        {"iat": lambda now: now + 50, "exp": lambda now: now + 40},
        {"nbf": lambda now: now + 600},
        {"exp": "9999999999"},
        {"exp": 1e300},
        {"exp": True},
        {"exp": lambda now: -now},
        {"iat": "x"},
        {"jti": None},
        {"jti": ""},
        {"jti": "x" * 300},
        {"jti": 7},
    ],
)
def test_jo_086_life_time(carol: Keyed, claims: dict[str, Any]) -> None:
    assert carol.prove(carol.assertion(**claims)).error == INVALID
    assert carol.prove().status == 200


def test_jo_087_issuer_and_subject_differ(carol: Keyed, acme: Tenant) -> None:
    eve = acme.agent()
    for claims in ({"iss": eve.id}, {"sub": eve.id}, {"iss": None}, {"sub": None}, {"sub": 5}):
        assert carol.prove(carol.assertion(**claims)).error == INVALID


def test_jo_088_for_another_client(carol: Keyed, acme: Tenant) -> None:
    """Signed with one's own key, whether the other has a key, a secret or does not exist."""
    other, plain = keyed(acme.agent()), acme.agent()
    for named in (other.who.id, plain.id, unknown_id("agt"), unknown_id("svc"), "restante-agent"):
        assert carol.prove(carol.assertion(iss=named, sub=named)).error == INVALID


def test_jo_089_algorithms(acme: Tenant) -> None:
    """Each of the registered keys, over everything but its own algorithm."""
    large = rsa.generate_private_key(65537, 2048)
    for key in (ec.generate_private_key(ec.SECP256R1()), large, None):
        one = acme.agent()
        one.address = new_address()
        client = keyed(one, key)
        good = client.assertion()
        assert client.prove(good).status == 200
        for alg in ("none", "None", "HS256", "RS256", "ES384", "PS256", "Ed25519", "", None, 5):
            bad = client.assertion(header={"alg": alg})
            assert client.prove(bad).error == INVALID, alg
    head, body = ({"alg": alg, "typ": "JWT"} for alg in ("HS256", "RS256"))
    client = keyed(_fresh(acme), large)
    pem = large.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    claims = client.assertion().split(".")[1]
    for secret in (pem, pem.rstrip(), b"", b"secret"):
        message = f"{encode(json.dumps(head).encode())}.{claims}"
        mac = hmac.digest(secret, message.encode(), sha256)
        assert client.prove(f"{message}.{encode(mac)}").error == INVALID
    message = f"{encode(json.dumps(body).encode())}.{claims}"
    made = large.sign(message.encode(), padding.PKCS1v15(), SHA256())
    assert client.prove(f"{message}.{encode(made)}").error == INVALID
    unsigned = encode(b'{"alg":"none"}')
    assert client.prove(f"{unsigned}.{claims}.").error == INVALID


def _fresh(acme: Tenant) -> Attacker:
    one = acme.agent()
    one.address = new_address()
    return one


def test_jo_090_deep_and_other_rubbish(carol: Keyed) -> None:
    head, body, sign = carol.assertion().split(".")
    deep = b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}"
    shallower = b'{"x":' + b"[" * 2_900 + b"]" * 2_900 + b"}"
    numbers = b'{"exp":' + b"9" * 5_000 + b"}"
    odd = [
        *("", ".", "..", "...", "a.b.c", "\x00.\x00.\x00", "\u00e9.\u00e9.\u00e9", "e30.e30.e30"),
        *(f"{head}.{encode(deep)}.{sign}", f"{encode(deep)}.{body}.{sign}"),
        *(f"{head}.{encode(shallower)}.{sign}", f"{encode(shallower)}.{body}.{sign}"),
        *(f"{head}.{encode(numbers)}.{sign}", f"{head}.{encode(b'[]')}.{sign}"),
        *(f"{head}.{encode(b'null')}.{sign}", f"{head}.{encode(bytes(50))}.{sign}"),
        *(f"{head}.{body}.{sign}=", f"{head}.{body}", "A" * 30_000),
    ]
    for number, text in enumerate(odd):
        if number % 10 == 0:
            elsewhere(carol)
        assert carol.prove(text or " ").error in (INVALID, "400 invalid_request"), text[:60]
    assert elsewhere(carol).prove().status == 200


def test_jo_091_the_type_of_the_assertion(carol: Keyed) -> None:
    wire, good = carol.who.wire, carol.assertion
    for kind in (
        "urn:ietf:params:oauth:client-assertion-type:saml2-bearer",
        "jwt",
        "",
        TYPE.upper(),
    ):
        answer = present(wire, good(), client_assertion_type=kind)
        assert answer.error == "400 invalid_request"
    plain = {"grant_type": "client_credentials"}
    assert (
        wire.form("/oauth/token", **plain, client_assertion=good()).error == "400 invalid_request"
    )
    answer = wire.form("/oauth/token", **plain, client_assertion_type=TYPE)
    assert answer.error == "400 invalid_request"
    for twice in ("client_assertion_type", "client_assertion"):
        form = [*plain.items(), ("client_assertion_type", TYPE), ("client_assertion", good())]
        form.append((twice, dict(form)[twice]))
        answer = wire.send("POST", "/oauth/token", {"Content-Type": FORM}, urlencode(form).encode())
        assert answer.error == "400 invalid_request"


def test_jo_092_client_id_names_another(carol: Keyed, acme: Tenant) -> None:
    for named in (acme.agent().id, "restante-agent", unknown_id("agt")):
        assert carol.prove(client_id=named).error == "400 invalid_request"
    assert carol.prove(client_id=carol.who.id).status == 200
    answer = carol.who.wire.form(
        "/oauth/token",
        carol.who.basic,
        grant_type="client_credentials",
        client_assertion_type=TYPE,
        client_assertion=carol.assertion(),
    )
    assert answer.error == "400 invalid_request"


def test_failed_assertions_are_counted_for_whom_they_name(carol: Keyed) -> None:
    """From wherever they come; a key of somebody else says nothing for him."""
    forger = Keyed(carol.who, ed25519.Ed25519PrivateKey.generate())
    for _ in range(MOST_FAILURES):
        elsewhere(carol)
        assert forger.prove().error == INVALID
    answer = elsewhere(carol).prove()
    assert answer.error == "429 temporarily_unavailable"
    assert 1 <= int(answer.headers["Retry-After"]) <= 60

"""Secrets and answers of challenges, by the vectors and by the cases."""

from __future__ import annotations

import hmac
import json
from base64 import b64decode, b64encode
from datetime import datetime
from ipaddress import ip_address

import pytest

from restante.egress.client import Answer
from restante.errors import ValidationFailed
from restante.webhooks.challenge import Challenge, Reason, judge, new_challenge
from restante.webhooks.secrets import check_secret, key_of, response_to
from tests.vectors.rfc9421 import DATA

SECRET = "a secret of at least thirty-two bytes"
NOW = datetime(2026, 1, 1, 12)


def challenge(secret: str = SECRET) -> Challenge:
    return new_challenge(bytes(16), url="https://hooks.example.com/", secret=secret, now=NOW)


def answered(body: bytes, *, status: int = 200, truncated: bool = False) -> Answer:
    address = ip_address("93.184.215.14")
    return Answer(status, {}, body, truncated, address, None, 0.1)


def saying(response: object) -> bytes:
    return json.dumps({"challenge_response": response}).encode()


@pytest.mark.parametrize("vector", DATA["hmac_sha256_challenge_vectors"], ids=lambda v: v["id"])
def test_a_response_is_the_hmac_of_the_challenge(vector: dict[str, str]) -> None:
    key = b64decode(vector["secret_b64"])
    assert (
        response_to(f"whsec_{vector['secret_b64']}", vector["token_text"])
        == vector["hmac_sha256_hex"]
    )
    assert (
        hmac.digest(key, vector["token_text"].encode(), "sha256").hex()
        == (vector["hmac_sha256_hex"])
    )


def test_a_whsec_secret_is_base64_and_any_other_its_bytes() -> None:
    raw = bytes(range(32))
    assert key_of("whsec_" + b64encode(raw).decode()) == raw
    assert key_of("ä" * 16) == "ä".encode() * 16


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "s" * 31,
        "ä" * 15,
        "whsec_" + "!" * 40,
        "whsec_" + "A" * 31,
        "whsec_" + b64encode(bytes(23)).decode(),
        "s" * 513,
    ],
)
def test_a_secret_that_is_none_is_refused_by_name(secret: str) -> None:
    with pytest.raises(ValidationFailed) as refused:
        check_secret(secret)
    assert refused.value.members["errors"][0]["pointer"] == "/secret"


@pytest.mark.parametrize("secret", ["s" * 32, "ä" * 16, "whsec_" + b64encode(bytes(24)).decode()])
def test_a_secret_of_the_least_length_will_do(secret: str) -> None:
    assert check_secret(secret) == secret


def test_the_right_answer_and_members_beside_it() -> None:
    one = challenge()
    right = response_to(SECRET, one.token)
    assert judge(one, answered(saying(right))) is None
    assert judge(one, answered(json.dumps({"x": 1, "challenge_response": right}).encode())) is None


def test_what_is_posted() -> None:
    one = challenge()
    assert json.loads(one.body) == {
        "type": "callback_challenge",
        "callback_id": "cb_" + "0" * 32,
        "challenge": one.token,
        "expires_at": "2026-01-01T12:01:00.000000Z",
    }
    assert one.token != challenge().token
    assert one.token not in repr(one)
    assert SECRET not in repr(one)


def test_wrong_answers_and_why() -> None:
    one = challenge()
    right = response_to(SECRET, one.token)
    assert judge(one, answered(saying(one.token))) is Reason.SIGNATURE
    assert judge(one, answered(saying(right[:32]))) is Reason.SIGNATURE
    assert judge(one, answered(saying(right.upper()))) is Reason.SIGNATURE
    assert judge(one, answered(saying("ü"))) is Reason.SIGNATURE
    assert judge(one, answered(saying("\ud800"))) is Reason.SIGNATURE
    assert judge(one, answered(saying(response_to(SECRET, challenge().token)))) is Reason.SIGNATURE
    assert judge(one, answered(saying(response_to("x" * 32, one.token)))) is Reason.SIGNATURE
    for status in (201, 202, 204, 301, 400, 500):
        assert judge(one, answered(saying(right), status=status)) is Reason.STATUS
    assert judge(one, answered(saying(right), truncated=True)) is Reason.BODY
    for body in (b"", b"ok", b"[]", b"null", b"\x1f\x8b\x08", saying(None), saying(1), b"[" * 4000):
        assert judge(one, answered(body)) is Reason.BODY, body
    assert judge(one, answered(right.encode())) is Reason.BODY

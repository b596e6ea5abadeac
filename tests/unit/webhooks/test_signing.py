"""Deliveries are signed in two ways, and both are verified by code that is not ours."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from datetime import UTC, datetime
from ipaddress import ip_address

import pytest
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from joserfc.jwk import OKPKey
from requests import Request

from restante.egress.client import Answer
from restante.egress.url import parse_url
from restante.webhooks.outcomes import Outcome, outcome_of, pause, retry_after
from restante.webhooks.secrets import key_of
from restante.webhooks.signing import Signer, signed_fields

KEY = OKPKey.generate_key("Ed25519")
SECRETS = ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "an earlier secret of thirty-two bytes"]
BODY = b'{"event_id":"evt_1"}'


class Keys(HTTPSignatureKeyResolver):
    def resolve_public_key(self, key_id: str) -> object:
        assert key_id == "kid-1"
        return KEY.get_op_key("verify")

    def resolve_private_key(self, key_id: str) -> object:
        raise AssertionError(key_id)


def fields_of(url: str) -> dict[str, str]:
    now = datetime.now(UTC).replace(tzinfo=None)
    signer = Signer("kid-1", KEY, SECRETS)
    return signed_fields(parse_url(url), BODY, message_id="evt_1", signer=signer, now=now)


@pytest.mark.parametrize(
    "url",
    [
        "https://hooks.example.com/a%20b/c",
        "https://HOOKS.example.com:443/x",
        "https://hooks.example.com:8443/?",
        "https://hooks.example.com/x?a=%7e&b",
    ],
)
def test_the_message_signature_is_verified_by_another_library(url: str) -> None:
    fields = fields_of(url)
    request = Request("POST", parse_url(url).url, headers=fields, data=BODY).prepare()
    request.url = parse_url(url).url
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    (verified,) = verifier.verify(request)
    covered = {re.sub(r'"', "", str(name)) for name in verified.covered_components}
    wanted = {"@method", "@authority", "@path", "content-digest", "content-type", "webhook-id"}
    assert wanted <= covered
    assert ("@query" in covered) == ("?" in url)
    parameters = verified.parameters
    assert parameters["tag"] == "restante-webhook"
    assert parameters["keyid"] == "kid-1"
    digest = base64.b64encode(hashlib.sha256(BODY).digest()).decode()
    assert fields["Content-Digest"] == f"sha-256=:{digest}:"


def test_standard_webhooks_with_both_secrets() -> None:
    fields = fields_of("https://hooks.example.com/")
    text = f"{fields['webhook-id']}.{fields['webhook-timestamp']}.".encode() + BODY
    wanted = [
        "v1," + base64.b64encode(hmac.digest(key_of(secret), text, "sha256")).decode()
        for secret in SECRETS
    ]
    assert fields["webhook-signature"].split(" ") == wanted


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (200, Outcome.DELIVERED),
        (204, Outcome.DELIVERED),
        (299, Outcome.DELIVERED),
        (202, Outcome.ACCEPTED),
        (410, Outcome.GONE),
        (400, Outcome.REFUSED),
        (404, Outcome.REFUSED),
        (499, Outcome.REFUSED),
        (408, Outcome.FAILED),
        (429, Outcome.FAILED),
        (301, Outcome.FAILED),
        (304, Outcome.FAILED),
        (500, Outcome.FAILED),
        (599, Outcome.FAILED),
    ],
)
def test_what_a_status_means(status: int, outcome: Outcome) -> None:
    assert outcome_of(status) is outcome


def test_pauses_grow_to_a_quarter_of_an_hour_with_full_jitter() -> None:
    assert all(pause(1, None).total_seconds() <= 4 for _ in range(50))
    assert max(pause(30, None).total_seconds() for _ in range(200)) <= 900
    assert min(pause(30, None).total_seconds() for _ in range(200)) < 300
    asked = outcome_of(200) and pause(1, None)
    assert pause(0, asked) >= asked


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        *(("0", 0), ("007", 7), ("86399", 86_399), ("86401", 86_400), ("99999999", 86_400)),
        *(("9999999999", 86_400), ("9" * 5_000, 86_400), ("0" * 5_000 + "7", 7)),
        *(("Thu, 01 Jan 2026 00:01:00 GMT", 60), ("Fri, 31 Dec 9999 23:59:59 GMT", 86_400)),
        *(
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("-1", None),
            ("1.5", None),
            ("", None),
            ("soon", None),
        ),
        ("\u0661", None),
    ],
    ids=lambda said: str(said)[:30],
)
def test_how_long_a_receiver_asks_to_wait(said: str, seconds: int | None) -> None:
    answer = Answer(503, {"retry-after": said}, b"", False, ip_address("8.8.8.8"), None, 0.1)
    asked = retry_after(answer, datetime(2026, 1, 1))
    assert (None if asked is None else asked.total_seconds()) == seconds

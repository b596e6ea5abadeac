"""The receiving side: what the server signs is taken once, and nothing else is."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from joserfc.jwk import OKPKey

from restante.egress.url import parse_url
from restante.webhooks.challenge import new_challenge
from restante.webhooks.secrets import response_to
from restante.webhooks.signing import Signer, signed_fields
from restante_agent.webhook import ChallengeAnswer, Delivery, NotGenuine, Receiver

NEW, OLD = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "an earlier secret of thirty-two bytes"
NOW = datetime(2031, 5, 1, 12)
SECONDS = NOW.replace(tzinfo=UTC).timestamp()
KEY = OKPKey.generate_key("Ed25519")
JWKS = {"keys": [{**KEY.as_dict(private=False), "kid": "kid-1"}]}
URL = "https://hooks.example.com:8443/hook/%7e?from=restante"
BODY = b'{"event_id":"evt_1","payload":{"type":"t"}}'


def receiver(*secrets: str, now: float = SECONDS) -> Receiver:
    return Receiver(secrets or (NEW,), jwks=JWKS, clock=lambda: now)


def fields(url: str = URL, body: bytes = BODY) -> dict[str, str]:
    signer = Signer("kid-1", KEY, [NEW, OLD])
    return signed_fields(parse_url(url), body, message_id="evt_1", signer=signer, now=NOW)


@pytest.mark.parametrize("url", [URL, "https://hooks.example.com/", "https://hooks.example.com/?"])
@pytest.mark.parametrize("secret", [NEW, OLD])
def test_a_delivery_is_taken_by_either_secret(url: str, secret: str) -> None:
    taken = receiver(secret).receive("POST", url, fields(url), BODY)
    assert taken == Delivery("evt_1", json.loads(BODY))


def test_a_challenge_is_answered_with_the_newest() -> None:
    one = new_challenge(bytes(16), url=URL, secret=NEW, now=NOW)
    answer = receiver(NEW, OLD).receive("POST", URL, {"Content-Type": "x"}, one.body)
    assert isinstance(answer, ChallengeAnswer)
    assert json.loads(answer.body) == {"challenge_response": response_to(NEW, one.token)}


def test_it_is_taken_once() -> None:
    there, sent = receiver(), fields()
    there.receive("POST", URL, sent, BODY)
    with pytest.raises(NotGenuine, match="before"):
        there.receive("POST", URL, sent, BODY)
    assert there.receive("POST", URL, {**fields(), "webhook-signature": _other()}, BODY)


def _other() -> str:
    """The same secrets' signatures in the other order: another text, as good."""
    return " ".join(reversed(fields()["webhook-signature"].split(" ")))


@pytest.mark.parametrize(
    ("method", "url", "body"),
    [
        ("PUT", URL, BODY),
        ("POST", URL.replace("hook/", "hooks/"), BODY),
        ("POST", URL.replace("=restante", "=other"), BODY),
        ("POST", URL.partition("?")[0], BODY),
        ("POST", URL.replace("hooks.", "other."), BODY),
        ("POST", URL, BODY + b" "),
        ("POST", URL, b"[]"),
        ("POST", URL, b"nonsense"),
    ],
)
def test_another_request_is_not_genuine(method: str, url: str, body: bytes) -> None:
    with pytest.raises(NotGenuine):
        receiver().receive(method, url, fields(), body)


@pytest.mark.parametrize("name", [name for name in fields() if name != "Content-Type"])
def test_every_field_is_needed(name: str) -> None:
    sent = fields()
    del sent[name]
    with pytest.raises(NotGenuine):
        receiver().receive("POST", URL, sent, BODY)
    with pytest.raises(NotGenuine):
        receiver().receive("POST", URL, {**fields(), name: "x"}, BODY)


@pytest.mark.parametrize("late", [-400, 301, 100_000])
def test_what_is_old_or_of_the_future_is_not_genuine(late: float) -> None:
    with pytest.raises(NotGenuine):
        receiver(now=SECONDS + late).receive("POST", URL, fields(), BODY)


def test_another_secret_and_another_key_are_not_genuine() -> None:
    with pytest.raises(NotGenuine):
        receiver("whsec_" + b64encode(bytes(32)).decode()).receive("POST", URL, fields(), BODY)
    strange = {"keys": [{**OKPKey.generate_key("Ed25519").as_dict(private=False), "kid": "kid-1"}]}
    for jwks in (strange, {"keys": []}):
        with pytest.raises(NotGenuine):
            replace(receiver(), jwks=jwks).receive("POST", URL, fields(), BODY)

"""The receiving side: what the server signs is taken once, and nothing else is."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

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


@pytest.mark.parametrize("challenge", ["evt_1.1700000000.{}", "", "a b", "\ud800", "x" * 300, None])
def test_no_other_text_is_answered_with_a_mac(challenge: str | None) -> None:
    """A MAC of `id.timestamp.body` is what signs a delivery: nobody has one made by asking."""
    body = json.dumps({"type": "callback_challenge", "challenge": challenge}).encode()
    with pytest.raises(NotGenuine, match="challenge"):
        receiver().receive("POST", URL, {}, body)


@pytest.mark.parametrize("jwks", [JWKS, None], ids=["both", "the secret alone"])
def test_it_is_taken_once_however_its_signature_is_written(jwks: Any) -> None:
    now = [SECONDS]
    there, sent = Receiver([NEW, OLD], jwks=jwks, clock=lambda: now[0]), fields()
    there.receive("POST", URL, sent, BODY)
    written = sent["webhook-signature"]
    for signature in (written, f"{written} v1,AAAA", " ".join(reversed(written.split(" ")))):
        now[0] += 100
        with pytest.raises(NotGenuine, match="before"):
            there.receive("POST", URL, {**sent, "webhook-signature": signature}, BODY)
    if jwks is not None:
        now[0] = SECONDS
        assert there.receive("POST", URL, fields(), BODY).id == "evt_1"  # type: ignore[union-attr]  # signed anew


def test_the_keys_are_got_anew_when_they_are_old_or_one_is_unknown() -> None:
    now, sets = [SECONDS - 25], [{"keys": []}, JWKS, {"keys": []}]
    there = Receiver([NEW], jwks=lambda: sets.pop(0), clock=lambda: now[0])
    refused = pytest.raises(NotGenuine, match="none of the server's")
    with refused:
        there.receive("POST", URL, fields(), BODY)
    with refused:  # not at once again
        there.receive("POST", URL, fields(), BODY)
    now[0] += 10
    assert there.receive("POST", URL, fields(), BODY)
    now[0] += 299
    assert there.receive("POST", URL, fields(), BODY)
    now[0] += 1
    with refused:  # a key that was removed is known no longer
        there.receive("POST", URL, fields(), BODY)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("Signature-Input", "created=", 'created="a";x='),
        ("Signature-Input", "expires=", "x="),
        ("Signature-Input", '"webhook-id"', '"webhook-timestamp"'),
        ("Signature-Input", '"@path"', '"@path" "@path"'),
        ("Signature-Input", 'tag="restante-webhook"', 'tag="other"'),
        ("Signature", ":", ":A"),
        ("webhook-id", "evt", "\ud800"),
    ],
)
def test_a_signature_that_was_changed_is_not_genuine(name: str, old: str, new: str) -> None:
    sent = fields()
    sent[name] = sent[name].replace(old, new, 1)
    with pytest.raises(NotGenuine):
        receiver().receive("POST", URL, sent, BODY)


@pytest.mark.parametrize("secrets", [[], "one text", ["whsec_?"]])
def test_secrets_that_are_none(secrets: Any) -> None:
    with pytest.raises(ValueError, match="secret"):
        Receiver(secrets)


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

"""Signatures that do not hold: with what they are refused, and which of two faults is told."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.http.signed_calls import AUTHORITY, CLAIM, minted, signed, told
from tests.http.signing import Signer
from tests.http.world import Caller, World, unknown_id


@pytest.fixture
def settings() -> dict[str, object]:
    return {"public_url": f"https://{AUTHORITY}"}


@pytest.fixture
def signer(alice: Caller) -> Signer:
    """Signs as alice, with a key that was minted for her."""
    return minted(alice)


NOW = int(time.time())
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another body": ({"sent": {"data": b'{"limit": 2}'}}, "400 digest-mismatch"),
    "no body": ({"sent": {"data": b""}}, "400 digest-mismatch"),
    "another path": ({"sent": {"path": "A/inbox/commit"}}, "401 signature-invalid"),
    "an escaped path": ({"sent": {"path": "A/inbo%78/claim"}}, "401 signature-invalid"),
    "another method": ({"sent": {"method": "PUT"}}, "405 method-not-allowed"),
    "a query": ({"sent": {"path": "A/inbox/claim?x=1"}}, "401 signature-component-missing"),
    "another host": ({"fields": {"Host": "inbox.example.org"}}, "401 signature-invalid"),
    "another port": ({"fields": {"Host": f"{AUTHORITY}:8443"}}, "401 signature-invalid"),
    "a digest of md5": (
        {"digest": "md5=:1B2M2Y8AsgTpgAmY7PhCfg==:"},
        "400 digest-unsupported",
    ),
    "a short digest": ({"digest": "sha-256=:AAAA:"}, "400 digest-invalid"),
    "a digest as of old": ({"digest": "SHA-256=47DEQpj8HBSa"}, "400 digest-malformed"),
    "an item as digest": ({"digest": "sha-256=abc"}, "400 digest-malformed"),
    "no digest": ({"fields": {"Content-Digest": ""}}, "401 signature-component-invalid"),
    "no signature": ({"fields": {"Signature": ""}}, "401 signature-malformed"),
    "no input": ({"fields": {"Signature-Input": ""}}, "401 signature-malformed"),
    "nonsense": ({"fields": {"Signature": "sig1=:!:"}}, "401 signature-malformed"),
    "a token for a signature": ({"fields": {"Signature": "sig1=abc"}}, "401 signature-malformed"),
    "not UTF-8": ({"fields": {"Signature": "sig1=\xff"}}, "401 signature-malformed"),
    "another label": ({"fields": {"Signature": "sig2=:AAAA:"}}, "401 signature-malformed"),
    "wrong bytes": ({"fields": {"Signature": "sig1=:AAAA:"}}, "401 signature-invalid"),
    "a parameter twice": ({"more": ";created=1"}, "401 signature-malformed"),
    "two": (
        {
            "fields": {
                "Signature-Input": 'a=();keyid="k", b=();keyid="k"',
                "Signature": "a=:AAAA:, b=:AAAA:",
            }
        },
        "401 signature-ambiguous",
    ),
    "no method": (
        {"components": ("@authority", "@path", "content-digest")},
        "401 signature-component-missing",
    ),
    "nothing": ({"components": ()}, "401 signature-component-missing"),
    "no such component": (
        {"components": ("@method", "@authority", "@path", "content-digest", "@nope")},
        "401 signature-component-invalid",
    ),
    "a component twice": (
        {"components": ("@method", "@authority", "@path", "content-digest", "@path")},
        "401 signature-component-invalid",
    ),
    "a field that is not there": (
        {"components": ("@method", "@authority", "@path", "content-digest", "x-none")},
        "401 signature-component-invalid",
    ),
    "a short nonce": ({"nonce": "n" * 15}, "401 signature-nonce-invalid"),
    "a long nonce": ({"nonce": "n" * 129}, "401 signature-nonce-invalid"),
    "expired": ({"created": NOW - 100_000}, "401 signature-expired"),
    "of the future": ({"created": NOW + 100_000}, "401 signature-not-yet-valid"),
    "a long window": ({"length": 301}, "401 signature-window-too-long"),
    "an empty window": ({"length": 0}, "401 signature-window-invalid"),
    "another algorithm": ({"more": ';alg="ed25519"'}, "401 signature-alg-mismatch"),
    "no algorithm": ({"more": ';alg="none"'}, "401 signature-alg-mismatch"),
    "the algorithm as a token": ({"more": ";alg=none"}, "401 signature-malformed"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_is_refused(alice: Caller, bob: Caller, signer: Signer, why: str) -> None:
    how, expected = REFUSED[why]
    bob.publish(alice)
    answer = signed(alice, signer, "POST", "A/inbox/claim", CLAIM, **how)
    assert "{} {}".format(*told(answer)) == expected
    if " signature-" in expected:
        assert answer.headers["WWW-Authenticate"].startswith("Bearer ")
        assert "error=" not in answer.headers["WWW-Authenticate"]
        wanted = answer.headers["Accept-Signature"]
        assert all(f'"{n}"' in wanted for n in ("@method", "@authority", "@path", "content-digest"))
    assert "sha-256" not in answer.text.replace("send sha-256 or", "")
    assert alice.get("A/inbox").json["events"][0]["status"] == "pending"


def test_the_order_of_the_checks(world: World, alice: Caller, signer: Signer) -> None:
    """Bearer, fields, key, signature, digest, nonce, scope: two faults, and the first is told."""

    def ask(method: str = "GET", path: str = "A/inbox/stats", **how: Any) -> str:
        return told(signed(alice, signer, method, path, **how))[1]

    wrong_token = {"fields": {"Authorization": "Bearer nonsense", "Signature": "x"}}
    assert ask(**wrong_token) == "unauthenticated"
    unknown = Signer(unknown_id("key"), "x", AUTHORITY)
    late = signed(alice, unknown, "GET", "A/inbox/stats", created=NOW - 1000)
    assert told(late)[1] == "signature-expired"
    forged = {"Signature": "sig1=:AAAA:"}
    unknown_and_forged = signed(alice, unknown, "GET", "A/inbox/stats", fields=forged)
    assert told(unknown_and_forged)[1] == "signature-unknown-key"
    assert ask(fields=forged, sent={"data": b"x"}) == "signature-invalid"
    signed(alice, signer, "GET", "A/inbox/stats", nonce="a-nonce-to-be-replayed")
    assert ask(nonce="a-nonce-to-be-replayed", sent={"data": b"x"}) == "digest-mismatch"
    other = f"/api/v1/agents/{unknown_id('agt')}/inbox"
    assert ask(path=other, nonce="a-nonce-to-be-replayed") == "signature-nonce-replayed"
    assert ask(path=other) == "not-found"
    assert ask(path=other, fields=forged) == "signature-invalid"

"""The JavaScript agent without a server: its cases run in one node, over an inbox in memory."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from joserfc.jwk import OKPKey

from restante.egress.url import parse_url
from restante.webhooks.challenge import new_challenge
from restante.webhooks.secrets import response_to
from restante.webhooks.signing import Signer, signed_fields
from tests.sdk_js.node_tests import run_cases, with_package
from tests.vectors import rfc9421

NEW, OLD = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "an earlier secret of thirty-two bytes"
NOW = datetime(2031, 5, 1, 12)
URL = "https://hooks.example.com:8443/hook/%7e?from=restante"
URLS = (URL, "https://hooks.example.com/", "https://hooks.example.com/?")
BODY = b'{"event_id":"evt_1","payload":{"type":"t"}}'


def signed_by_the_server() -> dict[str, object]:
    """Deliveries and a challenge, as the server's own code makes them."""
    key = OKPKey.generate_key("Ed25519")
    signer = Signer("kid-1", key, [NEW, OLD])
    challenge = new_challenge(bytes(16), url=URL, secret=NEW, now=NOW)
    deliveries = [
        {
            "url": url,
            "headers": signed_fields(
                parse_url(url), BODY, message_id="evt_1", signer=signer, now=NOW
            ),
            "body": BODY.decode(),
        }
        for url in URLS
    ]
    return {
        "now": NOW.replace(tzinfo=UTC).timestamp(),
        "secrets": [NEW, OLD],
        "jwks": {"keys": [{**key.as_dict(private=False), "kid": "kid-1"}]},
        "deliveries": [
            {**one, "headers": {name.lower(): value for name, value in one["headers"].items()}}
            for one in deliveries
        ],
        "challenge": {
            "body": challenge.body.decode(),
            "response": response_to(NEW, challenge.token),
        },
    }


@pytest.mark.timeout(110)
def test_all_cases_hold(tmp_path: Path) -> None:
    signed = tmp_path / "signed.json"
    signed.write_text(json.dumps(signed_by_the_server()))
    vectors = Path(rfc9421.__file__).with_suffix(".json")
    env = {"SIGNED": str(signed), "VECTORS": str(vectors)}
    run_cases(with_package(tmp_path / "node"), "unit.mjs", env=env)

"""Webhooks end to end: a real server, a receiver with TLS of a test authority, keys from the key set."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import trustme
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms
from joserfc.jwk import OKPKey
from requests import Request

from restante.webhooks.secrets import key_of, response_to
from tests.acceptance.stage import call, token_of
from tests.http.callbacks import SECRET, http
from tests.support.serving import RestanteCommand, Served
from tests.support.waiting import wait_until
from tests.unit.egress.servers import Server, serving

Serve = Callable[..., Served]
GRANTS = tuple(f"agent:main:{verb}" for verb in ("read", "claim", "callback"))


class KeySet(HTTPSignatureKeyResolver):
    """The public keys that a server tells of."""

    def __init__(self, url: str) -> None:
        keys = call(f"{url}/oauth/jwks.json")[1]["keys"]
        self._keys = {key["kid"]: OKPKey.import_key(key) for key in keys}

    def resolve_public_key(self, key_id: str) -> Any:
        return self._keys[key_id].get_op_key("verify")

    def resolve_private_key(self, key_id: str) -> Any:
        raise AssertionError(key_id)


def told(request: bytes) -> tuple[dict[str, str], bytes, Any]:
    """The fields, the body, and what the body says."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value for name, value in lines}, body, json.loads(body)


def agents_token(served: Served, agent: dict[str, Any]) -> str:
    pair = base64.b64encode(f"{agent['client_id']}:{agent['client_secret']}".encode()).decode()
    form = f"grant_type=client_credentials&scope={'+'.join(GRANTS)}".encode()
    asked = urllib.request.Request(f"{served.url}/oauth/token", form)
    asked.add_header("Authorization", f"Basic {pair}")
    with urllib.request.urlopen(asked, timeout=20) as answer:
        return str(json.loads(answer.read())["access_token"])


def test_from_registration_to_a_delivery_that_others_verify(
    empty_database_url: str,
    serve: Serve,
    restante_command: Callable[[str], RestanteCommand],
    tmp_path: Path,
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    there: list[Server] = []

    def answering(line: ssl.SSLSocket) -> None:
        _, _, said = told(there[0].requests[-1])
        body = b""
        if said.get("type") == "callback_challenge":
            response = response_to(SECRET, said["challenge"])
            body = json.dumps({"challenge_response": response}).encode()
        line.sendall(http(body))

    with serving(authority, answering, name="localhost") as receiver:
        there.append(receiver)
        command = restante_command(empty_database_url)
        command.upgrade()
        tenant = command.create_tenant("acme")
        command.create_project(tenant, "main")
        agent = command.create_agent(tenant, "builder", grants=GRANTS)
        scopes = ("tenant:events:publish", "tenant:callbacks:write")
        service = command.create_service(tenant, "admin", scopes=scopes)
        served = serve(
            empty_database_url,
            settings={
                "RESTANTE_EGRESS_ALLOW": f"localhost:{receiver.port}",
                "RESTANTE_EGRESS_CA_FILE": str(tmp_path / "ca.pem"),
            },
        )
        api, token = f"{served.url}/api/v1", agents_token(served, agent)
        own = f"{api}/agents/{agent['agent_id']}"
        url = f"https://localhost:{receiver.port}/hook?from=restante"
        body = {"url": url, "secret": SECRET, "mode": "deliver"}
        status, made = call(f"{own}/callbacks", token, body)
        assert (status, made.get("status")) == (201, "pending_approval"), made
        admin = token_of(served.url, service)
        shown = call(f"{api}/admin/callbacks/{made['callback_id']}", admin)[1]
        assert shown["seen"]["address"] == "allowed"
        assert shown["seen"]["certificate_names"] == ["localhost"]
        approve = f"{api}/admin/callbacks/{made['callback_id']}/approve"
        assert call(approve, admin, {"reason": "ours"})[1]["status"] == "active"
        event = {
            "recipients": [agent["agent_id"]],
            "project": "main",
            "payload": {"type": "greeting", "text": "ü"},
        }
        published = call(f"{api}/events", admin, event)[1]["events"][0]["event_id"]
        path = f"{own}/inbox/{published}"
        wait_until(
            lambda: call(path, token)[1]["status"] == "completed", "the delivery to be acked"
        )

        fields, sent, said = told(receiver.requests[-1])
        assert said["event_id"] == fields["webhook-id"] == published
        assert said["payload"] == {"type": "greeting", "text": "ü"}
        request = Request("POST", url, headers=fields, data=sent).prepare()
        verifier = HTTPMessageVerifier(
            signature_algorithm=algorithms.ED25519, key_resolver=KeySet(served.url)
        )
        (verified,) = verifier.verify(request)
        assert verified.parameters["tag"] == "restante-webhook"
        digest = base64.b64encode(hashlib.sha256(sent).digest()).decode()
        assert fields["content-digest"] == f"sha-256=:{digest}:"
        signed = f"{published}.{fields['webhook-timestamp']}.".encode() + sent
        mac = base64.b64encode(hmac.digest(key_of(SECRET), signed, "sha256")).decode()
        assert fields["webhook-signature"] == f"v1,{mac}"
        assert receiver.names == ["localhost"] * len(receiver.requests)

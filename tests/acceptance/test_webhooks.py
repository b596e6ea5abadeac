"""Webhooks end to end: a real server, a receiver with TLS of a test authority, keys from the key set."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme
from http_message_signatures import InvalidSignature
from standardwebhooks import WebhookVerificationError

from restante.webhooks.secrets import response_to
from restante_agent.webhook import Receiver
from tests.acceptance.stage import call, token_of
from tests.acceptance.verifiers import Arrived, altered, in_javascript, in_python
from tests.http.callbacks import SECRET, http
from tests.support.serving import RestanteCommand, Served
from tests.support.unavailable import had
from tests.support.waiting import wait_until
from tests.unit.egress.servers import Server, serving

Serve = Callable[..., Served]
NEW = "whsec_" + base64.b64encode(b"the secret after it, of thirty-two").decode()
GRANTS = tuple(f"agent:main:{verb}" for verb in ("read", "claim", "callback"))


def told(request: bytes) -> tuple[dict[str, str], bytes, Any]:
    """The fields, the body, and what the body says."""
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value for name, value in lines}, body, json.loads(body)


def verified(arrived: list[Arrived], jwks: dict[str, Any], secrets: list[str]) -> None:
    """By the page's snippets in Python: by every secret and the key, unless anything was changed."""
    page, strange = in_python(), f"whsec_{base64.b64encode(bytes(32)).decode()}"
    for one in arrived:
        for secret in secrets:
            assert page["verify_by_secret"](secret, one.headers, one.body) == json.loads(one.body)
        with pytest.raises(WebhookVerificationError):
            page["verify_by_secret"](strange, one.headers, one.body)
        page["verify_by_key"](jwks, one.method, one.url, one.headers, one.body)
        for what, other in altered(one).items():
            with pytest.raises(InvalidSignature):
                pytest.fail(f"{what}: {page['verify_by_key'](jwks, *parts(other))}")
        receiver = Receiver(secrets, jwks=jwks)
        assert page["answer"](receiver, *parts(one)) == (204, b"")
        assert page["answer"](receiver, *parts(one)) == (401, b"")


def parts(one: Arrived) -> tuple[Any, ...]:
    return one.method, one.url, one.headers, one.body


def test_from_registration_to_deliveries_that_others_verify(
    migrated_database_url: str,
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
        command = restante_command(migrated_database_url)
        command.upgrade()
        tenant = command.create_tenant("acme")
        command.create_project(tenant, "main")
        agent = command.create_agent(tenant, "builder", grants=GRANTS)
        scopes = ("tenant:events:publish", "tenant:callbacks:write")
        service = command.create_service(tenant, "admin", scopes=scopes)
        served = serve(
            migrated_database_url,
            settings={
                "RESTANTE_EGRESS_ALLOW": f"localhost:{receiver.port}",
                "RESTANTE_EGRESS_CA_FILE": str(tmp_path / "ca.pem"),
            },
        )
        api, token = f"{served.url}/api/v1", token_of(served.url, agent, scope=" ".join(GRANTS))
        own = f"{api}/agents/{agent['agent_id']}"
        url = f"https://localhost:{receiver.port}/hook?from=restante"
        body = {"url": url, "secret": SECRET, "mode": "deliver"}
        made = call(f"{own}/callbacks", token, body)[1]
        assert made.get("status") == "pending_approval", made
        admin = token_of(served.url, service)
        shown = call(f"{api}/admin/callbacks/{made['callback_id']}", admin)[1]
        assert shown["seen"]["address"] == "allowed"
        assert shown["seen"]["certificate_names"] == ["localhost"]
        approve = f"{api}/admin/callbacks/{made['callback_id']}/approve"
        assert call(approve, admin, {"reason": "ours"})[1]["status"] == "active"

        def delivered(text: str) -> Arrived:
            payload = {"type": "greeting", "text": text}
            event = {"recipients": [agent["agent_id"]], "project": "main", "payload": payload}
            published = call(f"{api}/events", admin, event)[1]["events"][0]["event_id"]
            path = f"{own}/inbox/{published}"
            wait_until(
                lambda: call(path, token)[1]["status"] == "completed", "the delivery to be acked"
            )
            fields, sent, said = told(receiver.requests[-1])
            assert said["event_id"] == fields["webhook-id"] == published
            assert said["payload"] == payload
            return Arrived(url, fields, sent)

        before = delivered("ü")
        rotated = call(f"{own}/callbacks/{made['callback_id']}/secret", token, {"secret": NEW})
        assert rotated[0] == 200, rotated
        while_rotating = delivered("both")
        jwks = call(f"{served.url}/oauth/jwks.json")[1]
        assert receiver.names == ["localhost"] * len(receiver.requests)

    verified([before], jwks, [SECRET])
    verified([while_rotating], jwks, [NEW, SECRET])
    verified_in_javascript(tmp_path, before, while_rotating, jwks)


def verified_in_javascript(
    folder: Path, before: Arrived, while_rotating: Arrived, jwks: dict[str, Any]
) -> None:
    cases = [(before, SECRET), (while_rotating, SECRET), (while_rotating, NEW)]
    wrong = [(before, NEW), *((other, SECRET) for other in altered(before).values())]
    said = had(lambda: in_javascript(folder, jwks, cases + wrong))
    assert said[: len(cases)] == [{"secret": "good", "key": "good"}] * len(cases)
    assert (said[len(cases)]["secret"] != "good", said[len(cases)]["key"]) == (True, "good")
    assert all(verdict["key"] != "good" for verdict in said[len(cases) + 1 :])

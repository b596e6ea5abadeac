"""Deliveries and challenges as Flask and ASGI hand them over."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from flask import Flask, request

from restante.webhooks.challenge import new_challenge
from restante.webhooks.secrets import response_to
from restante_agent.webhook import Delivery, Receiver
from restante_agent.webhook_adapters import AsgiReceiver, flask_answer
from tests.sdk.test_webhook import BODY, JWKS, NEW, NOW, SECONDS, fields

URL = "https://hooks.example.com/hook/%7e?from=restante"


def receiver() -> Receiver:
    return Receiver([NEW], jwks=JWKS, clock=lambda: SECONDS)


def test_flask() -> None:
    app, there, seen = Flask("receiver"), receiver(), []

    @app.post("/hook/<rest>")
    def hook(rest: str) -> Any:
        return flask_answer(there, request, seen.append)

    client = app.test_client()

    def post(body: bytes, headers: dict[str, str]) -> Any:
        return client.post(
            "/hook/%7e?from=restante",
            base_url="https://hooks.example.com",
            environ_overrides={"RAW_URI": "/hook/%7e?from=restante"},
            data=body,
            headers=headers,
        )

    sent = fields(URL)
    assert post(BODY, sent).status_code == 204
    assert post(BODY, sent).status_code == 401
    assert seen == [Delivery("evt_1", json.loads(BODY))]
    with app.test_request_context("/", method="POST", headers={"Transfer-Encoding": "chunked"}):
        assert flask_answer(there, request, seen.append)[1] == 413  # of no length that is said
    one = new_challenge(bytes(16), url=URL, secret=NEW, now=NOW)
    answer = post(one.body, {"Content-Type": "application/json"})
    assert answer.json == {"challenge_response": response_to(NEW, one.token)}


def asgi(app: AsgiReceiver, body: bytes, headers: dict[str, str], *more: Any) -> tuple[int, bytes]:
    scope = {
        "type": "http",
        "method": "POST",
        "scheme": "https",
        "path": "/hook/~",
        "raw_path": b"/hook/%7e",
        "query_string": b"from=restante",
        "headers": [
            (b"host", b"hooks.example.com"),
            *((name.lower().encode(), value.encode()) for name, value in headers.items()),
            *((name.encode(), value.encode()) for name, value in more),
        ],
    }
    pieces = [
        {"type": "http.request", "body": body[:5], "more_body": True},
        {"type": "http.request", "body": body[5:]},
    ]
    sent: list[Any] = []

    async def receive() -> Any:
        return pieces.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], sent[1]["body"]


def test_asgi() -> None:
    seen: list[Delivery] = []

    async def handle(delivery: Delivery) -> int:
        seen.append(delivery)
        return 202

    app = AsgiReceiver(receiver(), handle)
    sent = fields(URL)
    assert asgi(app, BODY, sent) == (202, b"")
    assert asgi(app, BODY, sent) == (401, b"")
    assert [delivery.id for delivery in seen] == ["evt_1"]
    one = new_challenge(bytes(16), url=URL, secret=NEW, now=NOW)
    status, body = asgi(app, one.body, {})
    assert status == 200
    assert json.loads(body) == {"challenge_response": response_to(NEW, one.token)}
    twice = ("Signature-Input", sent["Signature-Input"])
    assert asgi(AsgiReceiver(receiver(), handle), BODY, fields(URL), twice)[0] == 401
    behind = AsgiReceiver(receiver(), lambda _: None, origin="https://other.example.com")
    assert asgi(behind, BODY, fields(URL))[0] == 401

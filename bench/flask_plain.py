"""The floor of calls whose work is not the database's, behind a bare Flask (gunicorn, gevent workers).

A token: the secret's hash is compared and a JWT signed, by the library and the algorithm that the
product has. Figures: what `prometheus_client` makes of the files of the product on `BENCH_DATABASE_URL`.
A stream: one frame, then heartbeats.
"""

# ruff: noqa: E402 - gevent patches before anything else is imported
from __future__ import annotations

from gevent import monkey

monkey.patch_all()

import hashlib
import hmac
import json
import os
import time
import uuid
from collections.abc import Iterator

from flask import Flask, Response, request
from joserfc import jws
from joserfc.jwk import OKPKey
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from workers.run_folder import metrics_folder, run_folder

HEARTBEAT_SECONDS = 30.0
_REGISTRY = jws.JWSRegistry(algorithms=["EdDSA"])
_KEY = OKPKey.generate_key("Ed25519")

app = Flask(__name__)


@app.post("/oauth/token")
def token() -> Response:
    """A token of any client that brings a secret."""
    given = request.authorization
    assert given is not None
    hashed = hashlib.sha256((given.password or "").encode()).digest()
    hmac.compare_digest(hashed, bytes(32))
    now = int(time.time())
    payload = {
        **dict.fromkeys(("iss", "aud"), request.host_url),
        **dict.fromkeys(("sub", "client_id"), given.username),
        "jti": uuid.uuid4().hex,
        "iat": now,
        "exp": now + 600,
        "scope": request.form.get("scope", "agent:hot:read agent:hot:claim"),
    }
    header = {"alg": "EdDSA", "typ": "at+jwt", "kid": "1"}
    made = jws.serialize_compact(header, json.dumps(payload).encode(), _KEY, registry=_REGISTRY)
    return Response(
        json.dumps({"access_token": made, "token_type": "Bearer", "expires_in": 600}),
        mimetype="application/json",
    )


@app.get("/metrics")
def figures() -> Response:
    """All of them."""
    registry = CollectorRegistry()
    folder = metrics_folder(run_folder(os.environ["BENCH_DATABASE_URL"]))
    MultiProcessCollector(registry, path=str(folder))
    return Response(generate_latest(registry), mimetype="text/plain")


@app.get("/api/v1/agents/<agent_id>/subscribe")
def subscribe(agent_id: str) -> Response:
    """A stream of nothing."""

    def frames() -> Iterator[bytes]:
        yield b"event: ready\ndata: {}\n\n"
        while True:
            time.sleep(HEARTBEAT_SECONDS)
            yield b"event: heartbeat\ndata: {}\n\n"

    return Response(frames(), mimetype="text/event-stream")

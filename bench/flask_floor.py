"""The floor behind a bare Flask: what HTTP itself costs, without tokens, checks or a contract.

`BENCH_DATABASE` is host:port/name. Run by gunicorn with gevent workers, 8 connections a worker.
"""

# ruff: noqa: E402 - gevent patches before anything else is imported
from __future__ import annotations

from gevent import monkey

monkey.patch_all()

import os
from collections.abc import Callable
from typing import Any

import orjson
from flask import Flask, Response, request
from gevent.queue import LifoQueue

from bench import raw

CONNECTIONS = 8

app = Flask(__name__)
_address, _, _database = os.environ["BENCH_DATABASE"].partition("/")
_host, _, _port = _address.partition(":")
_free: LifoQueue = LifoQueue()
for _ in range(CONNECTIONS):
    _free.put(None)  # opened at first use


def _run(verb: Callable[..., Any], *arguments: Any) -> Any:
    connection = _free.get()
    try:
        connection = connection or raw.connect(_host, int(_port), _database)
        return verb(connection, *arguments)
    except Exception:
        connection = None
        raise
    finally:
        _free.put(connection)


def _answer(content: Any, status: int = 200) -> Response:
    return Response(orjson.dumps(content), status, mimetype="application/json")


def _recipient(agent_id: str) -> bytes:
    return bytes.fromhex(agent_id.partition("_")[2])


@app.post("/api/v1/events")
def publish() -> Response:
    """Publications of one recipient."""
    events = orjson.loads(request.get_data())["events"]
    agent_id = events[0]["recipients"][0]
    made = _run(raw.publish, _recipient(agent_id), [orjson.dumps(e["payload"]) for e in events])
    told = [
        {
            "event_id": f"evt_{event_id}",
            "recipient_id": agent_id,
            "sequence_number": number,
            "status": "pending",
        }
        for event_id, number in made
    ]
    return _answer({"events": told}, 201)


@app.post("/api/v1/agents/<agent_id>/inbox/claim")
def claim(agent_id: str) -> Response:
    """Claim."""
    limit = orjson.loads(request.get_data())["limit"]
    events = [
        {
            "event_id": f"evt_{event_id.hex()}",
            "sequence_number": number,
            "claim_generation": generation,
            "payload": orjson.Fragment(body),
        }
        for event_id, number, generation, body in _run(raw.claim, _recipient(agent_id), limit)
    ]
    return _answer({"events": events})


@app.post("/api/v1/agents/<agent_id>/inbox/settle")
def settle(agent_id: str) -> Response:
    """Acks only."""
    acks = orjson.loads(request.get_data())["ack"]
    held = [(bytes.fromhex(a["event_id"][4:]), a["claim_generation"]) for a in acks]
    if _run(raw.ack, _recipient(agent_id), held) != len(held):
        return _answer({"type": "/problems/stale-claim"}, 409)
    return _answer({"results": [{"event_id": a["event_id"], "status": "completed"} for a in acks]})

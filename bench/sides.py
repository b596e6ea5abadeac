"""What is measured, as a client process sees it: publish, claim and ack on an inbox of its own."""

from __future__ import annotations

import http.client
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from bench import raw

PROJECT = "bench"
IDLE_SECONDS = 1.5
"""A connection that rested so long is opened anew: the server may be about to close it."""


class Client(Protocol):
    """One client with one connection. What `claim` returns is handed to `ack`."""

    def publish(self, bodies: Sequence[bytes]) -> None: ...

    def claim(self, limit: int) -> Sequence[Any]: ...

    def ack(self, claimed: Sequence[Any]) -> None: ...

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]: ...

    def close(self) -> None: ...


class RawClient:
    """The floor's statements on a connection of its own."""

    def __init__(self, host: str, port: int, database: str, recipient: bytes) -> None:
        self.connection = raw.connect(host, port, database)
        self.recipient = recipient

    def publish(self, bodies: Sequence[bytes]) -> None:
        raw.publish(self.connection, self.recipient, bodies)

    def claim(self, limit: int) -> Sequence[Any]:
        return raw.claim(self.connection, self.recipient, limit)

    def ack(self, claimed: Sequence[Any]) -> None:
        held = [(event_id, generation) for event_id, _, generation, _ in claimed]
        if raw.ack(self.connection, self.recipient, held) != len(held):
            raise RuntimeError("an ack found its claim gone")

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [body for _, _, _, body in claimed]

    def close(self) -> None:
        self.connection.close()


@dataclass(frozen=True)
class Tokens:
    """What the product wants to see; the bare Flask takes none."""

    publish: str | None = None
    claim: str | None = None


class HTTPClient:
    """The contract's calls over one kept-alive connection: the product, and the bare Flask."""

    def __init__(self, host: str, port: int, agent_id: str, tokens: Tokens) -> None:
        self.connection = http.client.HTTPConnection(host, port, timeout=60)
        self.agent_id, self.tokens = agent_id, tokens
        self.used = time.monotonic()

    def publish(self, bodies: Sequence[bytes]) -> None:
        events = [
            {
                "recipients": [self.agent_id],
                "project": PROJECT,
                "type": "bench",
                "payload": orjson.Fragment(body),
            }
            for body in bodies
        ]
        made = self._post("/api/v1/events", {"events": events}, self.tokens.publish)
        if len(made["events"]) != len(bodies):
            raise RuntimeError("not every event was made")

    def claim(self, limit: int) -> Sequence[Any]:
        body = {"limit": limit, "lease_seconds": 60, "consumer": "bench"}
        path = f"/api/v1/agents/{self.agent_id}/inbox/claim"
        events: Sequence[Any] = self._post(path, body, self.tokens.claim)["events"]
        return events

    def ack(self, claimed: Sequence[Any]) -> None:
        body = {
            "ack": [
                {"event_id": e["event_id"], "claim_generation": e["claim_generation"]}
                for e in claimed
            ]
        }
        path = f"/api/v1/agents/{self.agent_id}/inbox/settle"
        results = self._post(path, body, self.tokens.claim)["results"]
        if any(result.get("status") != "completed" for result in results):
            raise RuntimeError(f"an ack was not taken: {results[:2]}")

    def payloads(self, claimed: Sequence[Any]) -> list[bytes | dict[str, Any]]:
        return [event["payload"] for event in claimed]

    def close(self) -> None:
        self.connection.close()

    def _post(self, path: str, body: dict[str, Any], token: str | None) -> Any:
        if time.monotonic() - self.used > IDLE_SECONDS:
            self.connection.close()
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.connection.request("POST", path, orjson.dumps(body), headers)
        answer = self.connection.getresponse()
        content = answer.read()
        self.used = time.monotonic()
        if answer.status not in (200, 201):
            raise RuntimeError(f"POST {path}: {answer.status} {content[:300]!r}")
        return orjson.loads(content)

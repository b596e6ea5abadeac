"""Signed calls of a served tenant that wants them: two workers on a server, one on SQLite."""

from __future__ import annotations

import http.client
import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.acceptance.stage import token_of
from tests.http.signing import Signer
from tests.support.serving import RestanteCommand, Served
from tests.support.waiting import wait_until

COPIES = 12


class Caller:
    """An agent of the tenant, over its own connection each time."""

    def __init__(self, url: str, agent: dict[str, Any]) -> None:
        self.netloc = urlsplit(url).netloc
        self.base = f"/api/v1/agents/{agent['agent_id']}"
        self.token = token_of(url, agent)

    def send(
        self, method: str, path: str, body: bytes = b"", fields: dict[str, str] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Status and answer."""
        connection = http.client.HTTPConnection(self.netloc, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}", **(fields or {})}
        if body:
            headers["Content-Type"] = "application/json"
        connection.request(method, self.base + path, body, headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def mint(self) -> Signer:
        status, made = self.send("POST", "/signing-keys")
        assert status == 201, made
        return Signer(made["key_id"], made["secret"], self.netloc)

    def signed(
        self, signer: Signer, method: str, path: str, body: bytes = b"", **how: Any
    ) -> tuple[int, dict[str, Any]]:
        fields = signer.fields(method, self.base + path, body, **how)
        return self.send(method, path, body, fields)


@pytest.fixture
def caller(serve: Callable[..., Served], migrated_database_url: str, backend: str) -> Caller:
    command = RestanteCommand(migrated_database_url)
    command.upgrade()
    tenant = command.json("tenant", "create", "acme")["tenant_id"]
    command.create_project(tenant, "main")
    agent = command.create_agent(tenant, "alice", grants=("agent:main:read", "agent:main:claim"))
    one = serve(migrated_database_url, workers=1 if backend == "sqlite" else 2)
    return Caller(one.url, agent)


def test_a_tenant_that_wants_signatures(caller: Caller) -> None:
    claim = b'{"limit": 1}'
    status, refused = caller.send("POST", "/inbox/claim", claim)
    assert (status, refused["type"]) == (401, "/problems/signature-missing")
    signer = caller.mint()
    assert caller.signed(signer, "POST", "/inbox/claim", claim)[0] == 200
    # as sent, not as decoded
    assert caller.signed(signer, "GET", "/inbox/evt_%2F%41?x")[0] in {404, 422}
    assert caller.signed(signer, "GET", "/inbox?projects=main%2Cmain")[0] == 200

    # copies of one request at once, and over all workers exactly one is taken
    fields = signer.fields("POST", f"{caller.base}/inbox/claim", claim)
    with ThreadPoolExecutor(COPIES) as pool:
        calls = [
            pool.submit(caller.send, "POST", "/inbox/claim", claim, fields) for _ in range(COPIES)
        ]
        answers = [one.result() for one in calls]
    statuses = Counter(status for status, _ in answers)
    assert statuses == {200: 1, 401: COPIES - 1}, answers
    slugs = {answer["type"] for status, answer in answers if status == 401}
    assert slugs == {"/problems/signature-nonce-replayed"}

    # a new key is known everywhere at once, an ended one nowhere a moment later
    newer = caller.mint()
    for _ in range(6):
        assert caller.signed(newer, "GET", "/inbox/stats")[0] == 200
    assert caller.signed(newer, "DELETE", f"/signing-keys/{signer.key_id}")[0] == 200

    def is_gone() -> bool:
        told = [caller.signed(signer, "GET", "/inbox/stats") for _ in range(6)]
        return all(answer.get("type") == "/problems/signature-unknown-key" for _, answer in told)

    wait_until(is_gone, "an ended key to be unknown on every worker")

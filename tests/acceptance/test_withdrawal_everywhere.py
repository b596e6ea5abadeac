"""What is withdrawn ends on every worker of every node, for calls, open streams and held calls.

That it is within a second is in what a process may go by (recent.STATE_SECONDS, half of one, on a
clock that tests move: tests/oauth/test_withdrawal.py); here are the processes: two nodes of two
workers each where the database is a server, each worker asked by a connection of its own.
"""

from __future__ import annotations

import base64
import json
import shutil
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from restante.storage.transaction import Database
from tests.acceptance.conftest import upgraded
from tests.acceptance.stage import Stage, call, token_of
from tests.support.databases import create_empty
from tests.support.serving import Served
from tests.support.waiting import wait_until
from tests.support.workers import Connection, connect_to_each

pytestmark = pytest.mark.timeout(300)


@dataclass
class Nodes:
    """Servers on one database, each with a run folder of its own, as on hosts of their own."""

    database: Database
    served: list[Served]

    def connections(self) -> list[Connection]:
        """One to each worker of each node."""
        return [one for served in self.served for one in connect_to_each(served)]


@dataclass
class Victim:
    """An agent of a new tenant, and its token."""

    stage: Stage
    agent: dict[str, Any]
    token: str
    administrator: str  # his token

    def path(self, rest: str) -> str:
        return f"/api/v1/agents/{self.agent['agent_id']}/{rest}"

    def administer(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        """What the administrator of the tenant is answered about it, who asks one of the nodes."""
        url = f"{self.stage.served.url}/api/v1/admin/agents/{self.agent['agent_id']}/{path}"
        status, told = call(url, self.administrator, body, method=method)
        assert status == 200, told
        return told


@pytest.fixture(scope="module")
def nodes(backend: str, worker_folder: Path, worker_name: str) -> Iterator[Nodes]:
    url = create_empty(backend, f"restante_{worker_name}_nodes", worker_folder)
    number = 1 if backend == "sqlite" else 2
    made = Nodes(upgraded(url), [])
    # tokens are of one issuer, whichever node they were got at
    public_url = ""
    for node in range(number):
        folder = worker_folder / f"{node}{backend[:2]}"
        shutil.rmtree(folder, ignore_errors=True)  # a worker may come back to this file
        folder.mkdir(mode=0o700)
        settings = {
            "RESTANTE_INSTANCE": str(folder / "instance"),
            "RESTANTE_HEARTBEAT_SECONDS": "1",
            "XDG_RUNTIME_DIR": str(folder),
        }
        if public_url:
            settings["RESTANTE_PUBLIC_URL"] = public_url
        log = worker_folder / f"nodes-{backend}-{node}.log"
        made.served.append(Served(url, log=log, workers=number, settings=settings))
        public_url = made.served[0].url
        made.served[-1].wait_until_ready()
    yield made
    for served in made.served:
        served.process.kill_group()
    made.database.engine.dispose()


@pytest.fixture
def victim(nodes: Nodes) -> Victim:
    stage = Stage(nodes.database, nodes.served[0])
    administrator = stage.token(stage.administrator())
    return Victim(stage, stage.agent, token_of(nodes.served[0].url, stage.agent), administrator)


def disable(victim: Victim) -> None:
    assert victim.administer("POST", "disable")["status"] == "disabled"


def withdraw_grants(victim: Victim) -> None:
    assert victim.administer("PUT", "grants", {"grants": []})["grants"] == []


def revoke_credential(victim: Victim) -> None:
    (only,) = victim.administer("GET", "credentials")["credentials"]
    assert victim.administer("DELETE", f"credentials/{only['credential_id']}")["revoked_at"]


def revoke_token(victim: Victim) -> None:
    request = urllib.request.Request(
        f"{victim.stage.served.url}/oauth/revoke", f"token={victim.token}".encode()
    )
    pair = f"{victim.agent['client_id']}:{victim.agent['client_secret']}".encode()
    request.add_header("Authorization", f"Basic {base64.b64encode(pair).decode()}")
    with urllib.request.urlopen(request, timeout=40) as answer:
        assert answer.status == 200


def kid_of(token: str) -> str:
    head = token.partition(".")[0]
    return str(json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["kid"])


def remove_key(victim: Victim) -> None:
    kid = kid_of(victim.token)
    told = victim.stage.served.command.json("keys", "rotate", f"--emergency={kid}")
    assert told["removed"] == [kid]
    assert [key["kid"] for key in told["keys"]] == told["made"]


@pytest.mark.parametrize(
    ("withdraw", "status"),
    [
        (disable, 401),
        (withdraw_grants, 403),
        (revoke_credential, 401),
        (revoke_token, 401),
        (remove_key, 401),
    ],
)
def test_on_every_worker(
    nodes: Nodes, victim: Victim, withdraw: Callable[[Victim], None], status: int
) -> None:
    calling, listening, waiting = (nodes.connections() for _ in range(3))
    stats = victim.path("inbox/stats")
    # every worker knows him by now, and who calls keeps it in memory
    assert [one.call(stats, victim.token)[0] for one in calling] == [200] * len(calling)
    streams = []
    for one in listening:
        one.send(victim.path("subscribe"), victim.token)
        streams.append(one.http.getresponse())
        assert b"retry:" in streams[-1].readline()
    for one in waiting:
        one.send(victim.path("inbox/claim"), victim.token, {"wait_seconds": 30})
    with ThreadPoolExecutor(2 * len(calling)) as pool:
        # to the end: the server closes what it has revoked
        frames = [pool.submit(stream.read) for stream in streams]
        held = [pool.submit(one.http.getresponse) for one in waiting]
        for _ in range(2):
            assert [one.call(stats, victim.token)[0] for one in calling] == [200] * len(calling)
        withdraw(victim)
        refused = [status] * len(calling)
        wait_until(
            lambda: [one.call(stats, victim.token)[0] for one in calling] == refused,
            "every worker to refuse him",
        )
        # and none goes back
        for _ in range(3):
            assert [one.call(stats, victim.token)[0] for one in calling] == refused
        assert [answer.result(60).status for answer in held] == [401] * len(held)
        for text in frames:
            assert text.result(60).rstrip().endswith(b"event: revoked\ndata: {}")
    if withdraw is remove_key:
        newer = token_of(nodes.served[-1].url, victim.agent)
        assert kid_of(newer) != kid_of(victim.token)
        assert [one.call(stats, newer)[0] for one in calling] == [200] * len(calling)
    for one in (*calling, *listening, *waiting):
        one.http.close()


def test_a_rotated_key_signs_nothing_yet_and_verifies_everywhere(
    nodes: Nodes, victim: Victim
) -> None:
    """The command beside running servers: the old key goes on, the new one is published by all."""
    told = victim.stage.served.command.json("keys", "rotate")
    (new,) = told["made"]
    connections = nodes.connections()
    for one in connections:
        keys = one.call("/oauth/jwks.json", victim.token)[1]["keys"]
        assert {key["kid"] for key in keys} >= {new, kid_of(victim.token)}
        token = token_of(nodes.served[-1].url, victim.agent)
        assert kid_of(token) == kid_of(victim.token)
        assert one.call(victim.path("inbox/stats"), token)[0] == 200
        one.http.close()

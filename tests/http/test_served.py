"""What only a real server shows: bodies in chunks, bodies too large, held calls at SIGTERM."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from base64 import b64encode
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.databases import create_empty
from tests.support.serving import RestanteCommand, Served
from tests.support.waiting import wait_until


class Client:
    """Calls a served agent's API."""

    def __init__(self, url: str, agent: dict[str, Any]) -> None:
        self.netloc = urlsplit(url).netloc
        self.agent_id = agent["agent_id"]
        self.token = ""
        form = "grant_type=client_credentials"
        basic = http.client.HTTPConnection(self.netloc, timeout=30)
        secret = b64encode(f"{agent['client_id']}:{agent['client_secret']}".encode()).decode()
        basic.request(
            "POST",
            "/oauth/token",
            form,
            {
                "Authorization": f"Basic {secret}",
                "Content-Type": "application/x-www-form-urlencoded",
            },
        )
        self.token = json.loads(basic.getresponse().read())["access_token"]

    def post(self, path: str, body: Any, **headers: str) -> tuple[int, dict[str, Any]]:
        """(status, answer); a body that is an iterator goes in chunks."""
        connection = http.client.HTTPConnection(self.netloc, timeout=60)
        fields = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            **headers,
        }
        connection.request("POST", f"/api/v1/agents/{self.agent_id}{path}", body, fields)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.fixture
def served(
    serve: Callable[..., Served], worker_folder: Path, worker_name: str
) -> tuple[Served, Client]:
    url = create_empty("sqlite", f"http_{worker_name}", worker_folder)
    command = RestanteCommand(url)
    command.upgrade()
    tenant = command.create_tenant("acme")
    command.create_project(tenant, "main")
    agent = command.create_agent(tenant, "alice", grants=("agent:main:read", "agent:main:claim"))
    one = serve(url)
    return one, Client(one.url, agent)


UNREADABLE = [
    (b"GET /api/v1/me\r\n\r\n", 400, "bad-request"),
    (b"GET /api/v1/me HTTP/1.1\r\n\r\n", 400, "bad-request"),
    (b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nAuthorization secret: x\r\n\r\n", 400, "bad-request"),
    (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "uri-too-long"),
    (
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"X-A: 1\r\n" * 200 + b"\r\n",
        431,
        "header-fields-too-large",
    ),
    (
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: zip\r\n\r\n",
        501,
        "transfer-coding-unknown",
    ),
]


def test_what_is_no_request_is_a_problem_as_well(served: tuple[Served, Client]) -> None:
    for sent, status, slug in UNREADABLE:
        with socket.create_connection(("127.0.0.1", served[0].port), timeout=30) as wire:
            wire.sendall(sent)
            answer = http.client.HTTPResponse(wire)
            answer.begin()
            told = json.loads(answer.read())
            assert (answer.status, answer.headers.get_content_type()) == (
                status,
                "application/problem+json",
            )
            assert (told["type"], told["status"]) == (f"/problems/{slug}", status)
            assert told["request_id"] == answer.headers["X-Request-Id"]
            assert told["instance"].startswith("urn:uuid:")
            assert "secret" not in json.dumps(told)
            with suppress(ConnectionResetError):  # where some of it was not read
                assert wire.recv(1) == b""  # it has hung up


def test_chunks_limits_and_the_end_of_held_calls(served: tuple[Served, Client]) -> None:
    server, client = served
    status, answer = client.post("/inbox/claim", iter([b'{"lim', b'it":1}']))
    assert (status, answer["events"]) == (200, [])

    wrong = client.post("/inbox/claim", b"ZZ\r\n{}\r\n", **{"Transfer-Encoding": "chunked"})
    assert (wrong[0], wrong[1]["type"]) == (400, "/problems/malformed-json")

    megabyte = b" " * (1024 * 1024)
    status, answer = client.post("/inbox/claim", iter([megabyte] * 9))
    assert (status, answer["type"]) == (413, "/problems/payload-too-large")
    status, answer = client.post("/inbox/claim", b"", **{"Content-Length": str(9 * 1024 * 1024)})
    assert (status, answer["type"]) == (413, "/problems/payload-too-large")

    with ThreadPoolExecutor(1) as pool:
        held = pool.submit(client.post, "/inbox/claim", b'{"wait_seconds":30}')
        wait_until(lambda: is_listening(server), "the call is held")
        os.kill(server.process.pid, signal.SIGTERM)
        status, answer = held.result(timeout=30)
    assert (status, answer["events"]) == (200, [])


def is_listening(server: Served) -> bool:
    """The held call's connection is accepted by the worker."""
    (worker,) = server.worker_pids()
    sockets = [str(fd.readlink()) for fd in Path(f"/proc/{worker}/fd").iterdir() if fd.is_symlink()]
    port = f":{server.port:04X}"
    accepted = {
        line.split()[9]
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
        if line.split()[1].endswith(port) and line.split()[3] == "01"
    }
    return any(f"socket:[{inode}]" in sockets for inode in accepted)

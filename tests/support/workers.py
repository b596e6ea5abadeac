"""Connections to each worker of a server, known by what the kernel says of their sockets."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support.serving import Served

MOST_TRIES = 500


@dataclass
class Connection:
    """One connection, kept alive, and the worker that has accepted it."""

    http: http.client.HTTPConnection
    pid: int

    def call(
        self, path: str, token: str, body: Any = None, *, method: str | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Status and JSON of an answer on this very connection."""
        self.send(path, token, body, method=method)
        answer = self.http.getresponse()
        text = answer.read()
        assert self.http.sock is not None, "the server has closed the connection"
        return answer.status, json.loads(text or b"{}")

    def send(self, path: str, token: str, body: Any = None, *, method: str | None = None) -> None:
        """A request whose answer is read later, from `http`."""
        text = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self.http.request(method or ("GET" if body is None else "POST"), path, text, headers)


def connect_to_each(served: Served) -> list[Connection]:
    """A connection to each worker of the server, in the order of their pids."""
    found: dict[int, Connection] = {}
    others = []
    workers = set(served.worker_pids())
    assert len(workers) == served.workers
    for _ in range(MOST_TRIES):
        if found.keys() == workers:
            break
        one = _connect(served, workers)
        if one.pid in found:
            others.append(one)  # held until the end: who is busy leaves the next to another
        else:
            found[one.pid] = one
    for one in others:
        one.http.close()
    assert found.keys() == workers, "one worker took every connection"
    return [found[pid] for pid in sorted(found)]


def _connect(served: Served, workers: Iterable[int]) -> Connection:
    connection = http.client.HTTPConnection(urlsplit(served.url).netloc, timeout=60)
    connection.request("GET", "/health/live")
    connection.getresponse().read()  # accepted, and by whom is known now
    port = connection.sock.getsockname()[1]
    (pid,) = [pid for pid in workers if f"socket:[{_inode(served.port, port)}]" in _files(pid)]
    return Connection(connection, pid)


def _inode(server_port: int, client_port: int) -> str:
    """Of the server's end of a loopback connection."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[1].endswith(f":{server_port:04X}") and fields[2].endswith(f":{client_port:04X}"):
            return fields[9]
    raise LookupError("the connection is not there")


def _files(pid: int) -> set[str]:
    files = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        try:
            files.add(str(file.readlink()))
        except FileNotFoundError:
            continue  # closed meanwhile
    return files

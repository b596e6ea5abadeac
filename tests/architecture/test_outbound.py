"""Nothing but `restante.egress` calls out: who imports anything that could says why it does not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.architecture.sources import ROOT, SERVER, calls, files, imports, name, tree

ROOM = "restante/egress/"
# What opens connections or looks up names, and what is built to: module, and all below it.
CLIENTS = frozenset(
    {
        *("http.client", "urllib.request", "xmlrpc.client", "ftplib", "smtplib", "imaplib"),
        *("poplib", "nntplib", "telnetlib", "urllib3", "requests", "httpx", "httpx2", "httpcore"),
        *("aiohttp", "pycurl", "tornado", "twisted", "websocket", "websockets", "paramiko", "dns"),
        *("grpc", "geventhttpclient", "authlib.integrations.base_client"),
        *("authlib.integrations.flask_client", "authlib.integrations.requests_client"),
        *("authlib.integrations.httpx_client", "authlib.oauth2.client", "joserfc.jwk_client"),
        *("socket", "ssl", "socketserver", "asyncio", "gevent.socket", "gevent.ssl"),
        *("multiprocessing.connection", "logging.handlers"),
    }
)
OPENING = frozenset({"import_module", "__import__", "run_path", "run_module"})

# Every use outside of the room, with the reason why it is no outbound client.
REASONS = {
    ("front_door.py", "http.client"): "doctor --url: the operator's own address, given by him",
    ("front_door.py", "urllib.request"): "the same",
    ("restante/signals/neighbours.py", "socket"): "datagrams between the processes of a host",
    ("blueprints/agents/stream.py", "socket"): "a duplicate of the caller's own connection",
    ("workers/outlet.py", "gevent.socket"): "the caller's own connection, once it is a stream",
    ("workers/worker.py", "socket"): "options of accepted connections",
    ("workers/joined.py", "socket"): "the caller's own connection",
    ("workers/port.py", "socket"): "listens, to see whether the port is free",
}


def used(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Every client that a module imports, by the name above, or names to be imported later."""
    names = [*imports(module)]
    names += [
        (constant.value, node.lineno)
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and _called(node).rpartition(".")[2] in OPENING
        for constant in node.args
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    ]
    for imported, line in names:
        for client in CLIENTS:
            if imported == client or imported.startswith(f"{client}."):
                yield client, line


def _called(node: ast.Call) -> str:
    return next((called for called, _ in calls(ast.Module([ast.Expr(node)], []))), "")


def outside() -> dict[tuple[str, str], int]:
    """(file, client) -> line, for the server's modules that are not the room's."""
    top = (path for path in files(".py") if path.parent == ROOT)
    return {
        (name(path), client): line
        for path in (*files(".py", *SERVER), *top)
        if not name(path).startswith(ROOM)
        for client, line in used(tree(path))
    }


def test_who_could_call_out_says_why_he_does_not() -> None:
    assert not {use: line for use, line in outside().items() if use not in REASONS}


def test_no_reason_outlives_its_use() -> None:
    assert not REASONS.keys() - outside().keys()


def test_the_room_calls_out_by_sockets_and_tls_alone() -> None:
    clients = {client for path in files(".py", ROOM) for client, _ in used(tree(path))}
    assert clients == {"socket", "ssl"}


def test_the_room_holds_no_connection_of_the_database() -> None:
    wrong = [
        f"{name(path)}:{line} {module}"
        for path in files(".py", ROOM)
        for module, line in imports(tree(path))
        if module.partition(".")[0] in ("sqlalchemy", "pymysql", "sqlite3")
        or module.startswith("restante.storage")
    ]
    assert not wrong


@pytest.mark.parametrize(
    "planted",
    [
        "import requests",
        "import urllib.request as fetch",
        "from urllib.request import urlopen",
        "from urllib import request",
        "from http.client import HTTPSConnection",
        "from http import client",
        "import httpx2.sse",
        "def f():\n    import socket\n    socket.create_connection(('h', 443))",
        "from socket import create_connection",
        "from gevent import socket",
        "import asyncio",
        "import urllib3",
        "import smtplib",
        "from authlib.integrations.flask_client import OAuth",
        "from authlib.integrations import requests_client",
        "from importlib import import_module\nimport_module('requests')",
        "import importlib\nimportlib.import_module('urllib3.connection')",
        "__import__('http.client')",
    ],
)
def test_a_planted_client_is_found(planted: str) -> None:
    assert list(used(ast.parse(planted)))


@pytest.mark.parametrize("harmless", ["import urllib.parse", "from http import HTTPStatus"])
def test_what_cannot_call_out_is_no_client(harmless: str) -> None:
    assert not list(used(ast.parse(harmless)))

"""The vectors once more, byte for byte through gunicorn: what a server does to a request is there."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.signing import COMPONENTS, Signer
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.serving import ROOT
from tests.support.waiting import wait_until
from tests.vectors import rfc9421 as vectors


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    number = free_port()
    log = tmp_path_factory.mktemp("signatures") / "log"
    command = [sys.executable, "-m", "tests.support.signature_app", str(number)]
    process = Process(command, log=log, cwd=ROOT)

    def listens() -> bool:
        assert process.is_running(), process.tail()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", number)) == 0

    wait_until(listens, "the server of the vectors")
    yield number
    process.kill_group()


def ask(
    port: int,
    vector: dict[str, Any],
    *,
    now: int | None = None,
    forget: bool = True,
    lines: list[tuple[str, str]] | None = None,
    target: str | None = None,
) -> tuple[int, str]:
    """Status and text of the answer to the vector's message."""
    message = vector["message"]
    fields = [
        *(lines or message["headers"]),
        ("Test-Now", str(vector["now"] if now is None else now)),
        ("Test-Origin", vectors.origin_of(vector["id"])),
        ("Connection", "close"),
        *([("Test-Forget", "1")] if forget else []),
    ]
    head = f"{message['method']} {target or message['target']} HTTP/1.1\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in fields)
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(head.encode("latin-1") + b"\r\n" + vectors.content_of(message))
        answer = b"".join(iter(lambda: connection.recv(65_536), b"")).decode()
    return int(answer.split(" ", 2)[1]), answer.partition("\r\n\r\n")[2]


@pytest.mark.parametrize("vector_id", sorted(vectors.PROFILE))
def test_a_vector_is_judged_right(port: int, vector_id: str) -> None:
    vector = vectors.PROFILE[vector_id]
    status, text = ask(port, vector)
    if vector_id in vectors.SERVER_REFUSES:
        assert status in vector["status"]
    elif vector["expected"] == "valid" or vector_id == "PV-44":
        # the signature of PV-44 holds: what it may do is not the verifier's affair
        assert status == 200, text
        assert f'keyid="{text}"' in dict(vector["message"]["headers"])["Signature-Input"]
    else:
        assert text == vector["error"]
        assert status in vector["status"]


@pytest.mark.parametrize(
    "sequence",
    [s for s in vectors.DATA["profile_sequences"] if not s.get("concurrent")],
    ids=lambda s: s["id"],
)
def test_a_sequence_is_judged_right(port: int, sequence: dict[str, Any]) -> None:
    for index, step in enumerate(sequence["steps"]):
        vector = vectors.PROFILE[step["vector"]]
        status, text = ask(port, vector, now=step["now"], forget=index == 0)
        assert status == 200 if step["expected"] == "valid" else text == step["error"]


def test_an_absolute_target_is_the_same_request(port: int) -> None:
    vector = vectors.PROFILE["PV-04"]
    target = f"https://{vector['message']['authority']}{vector['message']['target']}"
    assert ask(port, vector, target=target)[0] == 200
    elsewhere = f"https://evil.example{vector['message']['target']}"
    assert ask(port, vector, target=elsewhere) == (401, "signature-invalid")


@pytest.mark.parametrize("added", ["?", "?x", "%20", "/", "#"])
def test_what_is_added_to_a_target_is_seen(port: int, added: str) -> None:
    vector = vectors.PROFILE["PV-01"]
    status, text = ask(port, vector, target=vector["message"]["target"] + added)
    assert status == 401 or (added == "#" and status == 400), text


def test_a_field_that_came_in_two_lines_is_signed_as_two(port: int) -> None:
    """WSGI joins them by a bare comma, RFC 9421 by a comma and a space: the signature is of the latter."""
    vector = vectors.PROFILE["PV-03"]
    key_id, target = "agent-a1-ed25519", vector["message"]["target"]
    signer = Signer(key_id, vectors.private_key(key_id), vector["message"]["authority"])
    made = signer.fields(
        "GET",
        target,
        components=(*COMPONENTS, "x-part"),
        created=vector["now"],
        extra={"x-part": "a, b"},
    )
    host = ("Host", vector["message"]["authority"])
    lines = [host, *made.items(), ("X-Part", "a"), ("X-Part", "b")]
    assert ask(port, vector, lines=lines) == (200, key_id)
    swapped = [host, *made.items(), ("X-Part", "b"), ("X-Part", "a")]
    assert ask(port, vector, lines=swapped) == (401, "signature-invalid")

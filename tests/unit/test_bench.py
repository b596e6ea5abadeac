"""What the bench works out by itself: what became worse, what a herd was answered, who did what."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import history
from bench.crew import Crew
from bench.herd import Client
from bench.product import Agent
from bench.sides import Tokens

RESULTS: dict[str, Any] = {
    "machine": {
        "processors": 2,
        "memory_gib": 8.0,
        "python": "3.11.7",
        "began": "2026-11-30T10:00:00Z",
    },
    "arguments": {"short": False, "folder": "/somewhere/private"},
    "servers": {"mysql": {"version": "9.7.0", "datadir": "/somewhere/private"}},
    "throughput": [{"kind": "mysql"}],
    "promises": [
        {
            "what": "a ratio",
            "figure": 0.512345,
            "bound": 0.5,
            "at_least": True,
            "kept": True,
            "detail": "",
        }
    ],
}


def release(version: str, *found: tuple[str, float, float, bool]) -> dict[str, Any]:
    """A release with promises: what, figure, bound, at_least."""
    promises = [
        {
            "what": what,
            "figure": figure,
            "bound": bound,
            "at_least": at_least,
            "kept": figure >= bound if at_least else figure <= bound,
        }
        for what, figure, bound, at_least in found
    ]
    return history.release_of(version, {**RESULTS, "promises": promises})


@pytest.mark.parametrize(
    ("before", "now", "at_least", "told"),
    [
        (0.60, 0.55, True, None),
        (0.80, 0.70, True, "worse"),
        (0.51, 0.49, True, "broken"),
        (0.40, 0.30, True, "worse"),
        (0.40, 0.90, True, None),
        (0.20, 0.21, False, None),
        (0.20, 0.30, False, "worse"),
        (0.49, 0.51, False, "broken"),
        (0.30, 0.10, False, None),
        (0.0, 1.0, False, "broken"),
    ],
)
def test_what_became_worse(before: float, now: float, at_least: bool, told: str | None) -> None:  # noqa: FBT001 - pytest's
    older = release("1.0", ("it", before, 0.5, at_least))
    lines = list(history.worse(older, release("1.1", ("it", now, 0.5, at_least))))
    assert [line.split()[0] for line in lines] == ([told] if told else [])


def test_what_is_not_measured_any_more_is_said_and_what_is_new_is_not() -> None:
    older, newer = release("1.0", ("old", 1, 1, True)), release("1.1", ("new", 1, 1, True))
    assert list(history.worse(older, newer)) == ["not measured  old"]


def test_a_release_is_kept_without_where_it_ran(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    file = history.keep("1.2.0", RESULTS, folder)
    assert file == folder / "1.2.0.json"
    assert "private" not in file.read_text()
    (kept,) = history.releases(folder)
    assert kept == json.loads(file.read_text())
    assert kept["servers"] == {"mysql": "9.7.0"}
    assert kept["promises"]["a ratio"]["figure"] == 0.5123


@pytest.mark.parametrize("version", ["", "../1.0", "1/0", "."])
def test_a_version_is_a_name(tmp_path: Path, version: str) -> None:
    with pytest.raises(ValueError, match="is no version"):
        history.keep(version, RESULTS, tmp_path)
    assert not list(tmp_path.iterdir())


def test_releases_come_in_the_order_in_which_they_were_measured(tmp_path: Path) -> None:
    for version, year in (("1.10", 2027), ("1.9", 2026)):
        machine = {**RESULTS["machine"], "began": f"{year}-01-01T00:00:00Z"}
        history.keep(version, {**RESULTS, "machine": machine}, tmp_path)
    assert [one["version"] for one in history.releases(tmp_path)] == ["1.9", "1.10"]


def test_a_crew_does_its_pieces_side_by_side_and_in_their_order() -> None:
    crew = Crew(lambda: done.append, 2)
    try:
        found = crew.run([["a", "b", "c"], ["d"]])
        assert len(found.laps) == 4
        assert found.rate > 0
        assert len(crew.run([["e"], ["f"]]).laps) == 2
    finally:
        crew.close()


done: list[str] = []


def test_a_member_of_a_crew_that_fails_is_told() -> None:
    crew = Crew(lambda: int, 2)
    try:
        with pytest.raises(RuntimeError, match="invalid literal"):
            crew.run([["1"], ["no number"]])
    finally:
        crew.close()


@pytest.fixture
def line() -> Iterator[tuple[Client, socket.socket]]:
    """A client that has asked, and the server's end."""
    client = Client(Agent("agt_1", b"", Tokens(claim="t")), 1)
    client.connection, theirs = socket.socketpair()
    client.text = b""
    with client.connection, theirs:
        yield client, theirs


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", None),
        (b"HTTP/1.1 200 OK\r\n\r\nevent: ready\n", "200"),
        (b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n\r\n", "503"),
        (b"HTTP/1.1 503 Ser", None),
    ],
)
def test_what_a_client_of_a_herd_was_answered(
    line: tuple[Client, socket.socket], said: bytes, told: str | None
) -> None:
    client, server = line
    server.sendall(said)
    assert client.read() == told


@pytest.mark.parametrize(("said", "told"), [(b"", "none"), (b"HTTP/1.1 200 OK\r\n\r\n", "broken")])
def test_a_stream_that_ends_before_it_is_open_is_no_stream(
    line: tuple[Client, socket.socket], said: bytes, told: str
) -> None:
    client, server = line
    server.sendall(said)
    server.shutdown(socket.SHUT_WR)
    found = client.read() or client.read()
    assert found == told

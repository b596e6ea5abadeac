"""Bytes that no HTTP library would write: no fault of ours, nothing smuggled, nobody else held up."""

from __future__ import annotations

import random
from contextlib import ExitStack

import pytest

from tests.attacks.arena import Attacker
from tests.fuzz import wires
from tests.fuzz.wires import MIB, REFUSED, Line

SLOW = 60
EVENTS = "/api/v1/events"


@pytest.fixture
def publisher(alice: Attacker) -> Attacker:
    """A service that may publish."""
    return alice.tenant.service("tenant:events:publish").signed_in()


@pytest.fixture
def line(publisher: Attacker) -> Line:
    return Line("127.0.0.1", publisher.arena.served.port, publisher.token)


@pytest.mark.parametrize("target", [EVENTS, "/oauth/token", "/device"])
def test_chunks_that_are_none_are_refused(line: Line, target: str) -> None:
    for sent in wires.chunked(line, target):
        got = line.raw(sent)
        assert set(wires.statuses(got) or [0]) <= REFUSED, (sent[-300:], got[:300])


def test_floods_of_fields_and_lines_that_are_none_are_refused(line: Line) -> None:
    for sent in wires.heads(line, "/health/live"):
        got = line.raw(sent)
        assert set(wires.statuses(got) or [0]) <= REFUSED | {200}, (sent[:300], got[:300])
        assert len(wires.statuses(got)) <= 1, (sent[:300], got[:300])


@pytest.mark.parametrize("target", [EVENTS, "/oauth/token"])
def test_nothing_is_smuggled(line: Line, target: str) -> None:
    for sent in wires.smuggled(line, target):
        got = line.raw(sent)
        assert wires.SMUGGLED.encode() not in got, (sent[:600], got)


def test_what_is_pipelined_is_answered_in_order(line: Line) -> None:
    draw = random.Random(7)
    for many in (2, 40):
        sent, ids = wires.pipelined(line, draw, many)
        got = line.raw(sent)
        told = [part for part in ids if f"X-Request-Id: {part}\r\n".lower().encode() in got.lower()]
        assert told == ids
        assert [got.index(part.encode()) for part in ids] == sorted(
            got.index(p.encode()) for p in ids
        )
        assert len(wires.statuses(got)) == many


def test_slow_bodies_hold_nobody_up(line: Line, publisher: Attacker, alice: Attacker) -> None:
    """Nor do they hold a place in the database, of which there are fewer."""
    with ExitStack() as stack:
        connections = wires.slow_bodies(line, EVENTS, SLOW, stack)
        for _ in range(3):
            assert publisher.publish(alice).status == 201
            assert alice.stats().status == 200
        # a body that comes in the end is read
        connections[0].sendall(b" " * (MIB - 2) + b"}")
        assert connections[0].recv(4096).startswith(b"HTTP/1.1 422 ")


def test_bodies_as_large_as_may_be(line: Line, publisher: Attacker) -> None:
    """And one that is larger, which is refused before it has come."""
    limit = 8 * MIB
    for body in wires.big_bodies(limit):
        assert limit - 64 < len(body) <= limit, body[:40]
        answer = publisher.call("POST", EVENTS, body)
        assert answer.status in (400, 413, 422), (body[:40], answer.body[:300])
        assert len(answer.body) < 64 * 1024
    assert wires.statuses(line.raw(line.head(EVENTS, f"Content-Length: {limit + 1}"))) == [413]

"""What is written to a stream, byte for byte (contract 5.1)."""

from __future__ import annotations

import json
import socket
import threading
from datetime import datetime

import pytest

from blueprints.agents.stream import Frames, Line, ending_frame, ready_frame, ring_frame
from restante.signals.hub import Hub
from restante.signals.opening import Opening
from restante.signals.rings import Ring
from restante.signals.streams import End, Ending, Stream, Streams

ME, P = b"m" * 16, b"p" * 16


def parsed(frame: bytes) -> tuple[str, dict[str, object]]:
    """The event and data of one frame; it is whole, and has no id."""
    assert frame.endswith(b"\n\n")
    fields = dict(line.split(": ", 1) for line in frame.decode().strip().splitlines())
    assert "id" not in fields
    return fields["event"], json.loads(fields["data"])


@pytest.fixture
def streams() -> Streams[object]:
    return Streams(Hub(), limit=5, heartbeat_seconds=30)


@pytest.fixture
def stream(streams: Streams[object]) -> Stream[object]:
    found = streams.open(ME, [P], standing=None)
    assert found is not None
    return found


def test_the_ready_frame() -> None:
    frame = ready_frame(Opening(datetime(2030, 1, 1), "ab", 1045, 3), 30.0)
    assert parsed(frame) == (
        "ready",
        {"epoch": "ab", "head": 1045, "claimable": 3, "heartbeat_seconds": 30},
    )


def test_retry_differs_per_connection() -> None:
    found = Opening(datetime(2030, 1, 1), "ab", 0, 0)
    first_lines = {ready_frame(found, 0.5).split(b"\n")[0] for _ in range(20)}
    assert all(line.startswith(b"retry: ") for line in first_lines)
    assert len(first_lines) > 10


def test_the_other_frames() -> None:
    assert parsed(ring_frame(1045)) == ("inbox_updated", {"cursor_hint": 1045})
    assert parsed(ending_frame(Ending(End.REVOKED, 0))) == ("revoked", {})
    for end in (End.SHUTDOWN, End.TOKEN_EXPIRED, End.REPLACED, End.LIFETIME):
        told = {"reason": end.value, "retry_after_ms": 1234}
        assert parsed(ending_frame(Ending(end, 1234))) == ("reconnect", told)


def test_what_is_said_and_in_which_order(streams: Streams[object], stream: Stream[object]) -> None:
    frames = Frames(streams, stream, b"first")
    assert next(frames) == b"first"
    streams.hub.ring_many([Ring(ME, P, 7), Ring(ME, P, 8)])
    stream.beat()
    assert next(frames) == ring_frame(8) + b"event: heartbeat\ndata: {}\n\n"
    stream.beat()
    assert next(frames) == b"event: heartbeat\ndata: {}\n\n"
    stream.end(End.REVOKED)
    assert next(frames) == b"event: revoked\ndata: {}\n\n"
    assert list(frames) == []
    assert len(streams) == 0


def test_rings_in_quick_succession_are_one_frame(
    streams: Streams[object], stream: Stream[object]
) -> None:
    frames = Frames(streams, stream, b"first")
    next(frames)
    streams.hub.ring_many([Ring(ME, P, 1)])
    assert next(frames) == ring_frame(1)
    streams.hub.ring_many([Ring(ME, P, 2)])
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(next(frames)))
    reader.start()
    for head in range(3, 100):
        streams.hub.ring_many([Ring(ME, P, head)])
    reader.join(30)
    stream.end(End.SHUTDOWN)
    rest = list(frames)
    assert found[-1] == ring_frame(99) or rest[0] == ring_frame(99)
    assert len(found) + len(rest) <= 4


def test_a_stream_that_is_thrown_away_is_closed(
    streams: Streams[object], stream: Stream[object]
) -> None:
    frames = Frames(streams, stream, b"first")
    assert len(streams) == 1
    del frames
    assert len(streams) == 0
    assert not streams.hub.listens(ME)


def test_a_line_knows_when_the_other_side_has_gone() -> None:
    here, there = socket.socketpair()
    with here, there:
        line = Line(here)
        assert not line.is_gone()
        there.send(b"x")
        assert not line.is_gone()
        assert here.recv(1) == b"x"
        there.close()
        assert line.is_gone()
        line.hang_up()

"""A body has to have come by a certain time, however it comes."""

from __future__ import annotations

import io
import time

import pytest
from gevent.event import Event

from workers.bodies import BodyTooSlow, Dated


class Trickle:
    """A body of which a byte comes at every read, but for the last one, which never comes."""

    def __init__(self, size: int) -> None:
        self._left = size

    def read(self, size: int | None = None) -> bytes:
        self._left -= 1
        Event().wait(0 if self._left else None)
        return b"x"

    readline = read


def test_what_does_not_come_is_given_up() -> None:
    body = Dated(Trickle(3), seconds=0.05)
    assert body.read(1) + body.readline() == b"xx"
    with pytest.raises(BodyTooSlow):
        body.read(1)


def test_its_time_is_that_of_all_its_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    body = Dated(Trickle(1_000_000), seconds=60)
    began = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began + 61)
    with pytest.raises(BodyTooSlow):
        all(body.read(1) for _ in range(1_000))


def test_what_has_come_is_read_as_ever() -> None:
    kept = io.BytesIO(b"a\nb\nc")
    body = Dated(kept)
    assert body.readline() == b"a\n"
    assert list(body) == [b"b\n", b"c"]
    kept.seek(0)
    assert body.readlines() == [b"a\n", b"b\n", b"c"]
    assert body.read() == b""

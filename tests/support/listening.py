"""A subscriber as simple as can be: one socket, one thread, what came and when."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from tests.support.waiting import PATIENCE_SECONDS, wait_until


@dataclass(frozen=True)
class Frame:
    """A server-sent event and when it came (monotonic)."""

    event: str
    data: dict[str, Any]
    fields: dict[str, str]
    at: float


@dataclass
class Listener:
    """Reads a stream in the background until it ends or is closed."""

    url: str
    token: str
    method: str = "GET"
    tls: ssl.SSLContext | None = None
    head: str = ""
    frames: list[Frame] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        self._socket = socket.create_connection((host, parts.port or 80), 10)
        if self.tls is not None:
            self._socket = self.tls.wrap_socket(self._socket, server_hostname=host)
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        self._socket.sendall(
            f"{self.method} {path} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            f"Authorization: Bearer {self.token}\r\nAccept: text/event-stream\r\n\r\n".encode()
        )
        self._socket.settimeout(None)
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            with self._socket.makefile("rb") as source:
                head = []
                while (line := source.readline()).strip():
                    head.append(line.decode())
                self.head = "".join(head)
                buffer = b""
                while size := int(source.readline().strip() or b"0", 16):
                    buffer += source.read(size)
                    source.readline()
                    *whole, buffer = buffer.split(b"\n\n")
                    self.frames += [_frame(text.decode()) for text in whole]
        except (OSError, ValueError):
            pass  # it was cut off
        finally:
            self.ended.set()

    @property
    def status(self) -> int:
        """The answer's status, once it has come."""
        wait_until(lambda: self.head, "the head of the answer")
        return int(self.head.split()[1])

    def of(self, event: str) -> list[Frame]:
        """The frames of an event that have come."""
        return [frame for frame in self.frames if frame.event == event]

    def wait_for(
        self, event: str, *, count: int = 1, timeout_seconds: float = PATIENCE_SECONDS
    ) -> Frame:
        """The event's frame of that number, once it has come."""
        wait_until(
            lambda: len(self.of(event)) >= count,
            f"{event} {count}",
            timeout_seconds=timeout_seconds,
        )
        return self.of(event)[count - 1]

    def wait_for_ring(self, cursor_hint: int) -> None:
        """Return once it was rung with this hint, by whatever way and however often."""
        wait_until(
            lambda: any(f.data == {"cursor_hint": cursor_hint} for f in self.of("inbox_updated")),
            f"a ring with the hint {cursor_hint}",
        )

    def close(self) -> None:
        """Hang up."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _frame(text: str) -> Frame:
    fields = dict(line.split(": ", 1) for line in text.splitlines())
    return Frame(fields.get("event", ""), json.loads(fields["data"]), fields, time.monotonic())

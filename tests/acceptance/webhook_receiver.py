"""A receiver of webhooks on loopback, with TLS: it answers 200, and is killed and started again."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import trustme

from restante.webhooks.callbacks import Callback
from tests.http.callbacks import http
from tests.unit.egress.servers import read_request

NAME = "localhost"
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: a close is an RST, as of a process that was killed


@dataclass(frozen=True, slots=True)
class Arrival:
    """A delivery as it came. `answered`: the 200 has been written."""

    path: str
    message_id: str
    told: dict[str, Any] = field(repr=False)
    number: int
    answered: bool

    @property
    def claim(self) -> tuple[str, int]:
        """Its event, and which claim of it."""
        return self.told["event_id"], self.told["claim_generation"]


@dataclass
class Receiver:
    """`before_answer` is told the port of who sends, `after_answer` is called once it is answered."""

    authority: trustme.CA
    arrivals: list[Arrival]
    before_answer: Callable[[int], None] = lambda _: None
    after_answer: Callable[[], None] = lambda: None
    port: int = 0

    def __post_init__(self) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert(NAME).configure_cert(self._context)
        self._lines: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.start()

    def start(self) -> None:
        """Take connections from now on, at the port that it had."""
        self._listener = socket.create_server((NAME, self.port))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def kill(self) -> None:
        """End at once, with what is on its way."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for line in self._lines:
                with suppress(OSError):
                    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    line.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            with self._lock:
                self._lines.add(plain)
            threading.Thread(target=self._serve, args=(plain,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        try:
            with suppress(OSError), plain:
                plain.settimeout(15)
                with self._context.wrap_socket(plain, server_side=True) as line:
                    self._answer(line)
        finally:
            with self._lock:
                self._lines.discard(plain)

    def _answer(self, line: ssl.SSLSocket) -> None:
        head, _, body = read_request(line).partition(b"\r\n\r\n")
        first, *fields = head.decode().split("\r\n")
        named = dict(one.lower().split(": ", 1) for one in fields)
        path, told, number = first.split(" ")[1], json.loads(body), time.monotonic_ns()
        self.before_answer(line.getpeername()[1])
        answered = True
        try:
            line.sendall(http(b""))
        except OSError:
            answered = False
        self.arrivals.append(Arrival(path, named["webhook-id"], told, number, answered))
        self.after_answer()


def path_of(one: Callback) -> str:
    """Where its receiver is asked."""
    return "/" + one.url.rpartition("/")[2]

"""Rings between the processes of one host: datagrams over sockets in a private folder.

Every process has a socket there and sends what it rings to all others. Nothing waits for anybody:
a neighbour whose queue stays full is passed over, and its tailer finds the ring in the table.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from restante.signals.rings import Ring

log = logging.getLogger("restante.signals")

SUFFIX = ".ring"
_RING = struct.Struct(">16s16sQ")
MOST_RINGS = 400
"""Rings in one datagram: 16 KB."""
MOST_WAITING = 10_000
LOOK_SECONDS = 1.0
FULL_TRIES = 20
FULL_PAUSE_SECONDS = 0.002


class Neighbours:
    """The other processes of the host. `hear` gets what they have rung.

    The folder is read at most once a second, so a new neighbour is known within one.
    """

    def __init__(self, folder: Path, hear: Callable[[list[Ring]], None]) -> None:
        self._folder = folder
        self._hear = hear
        self._path = folder / f"{os.getpid()}-{secrets.token_hex(4)}{SUFFIX}"
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._waiting: dict[Ring, None] = {}
        self._has_rings = threading.Event()
        self._stopped = False
        self._peers: list[str] = []
        self._looked_at = float("-inf")
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Be reachable, and send and hear from now on."""
        self._socket.bind(str(self._path))
        self._path.chmod(0o600)
        for work in (self._send_all, self._hear_all):
            thread = threading.Thread(target=work, name=f"restante{work.__name__}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """Leave the folder."""
        self._stopped = True
        self._path.unlink(missing_ok=True)
        self._has_rings.set()
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def ring_many(self, rings: Sequence[Ring]) -> None:
        """Have the neighbours ring; returns at once."""
        if len(self._waiting) < MOST_WAITING:
            self._waiting.update(dict.fromkeys(rings))
            self._has_rings.set()

    def _send_all(self) -> None:
        while not self._stopped:
            self._has_rings.wait()
            self._has_rings.clear()
            rings, self._waiting = list(self._waiting), {}
            for start in range(0, len(rings), MOST_RINGS):
                datagram = pack(rings[start : start + MOST_RINGS])
                for peer in self.peers():
                    self._send(datagram, peer)

    def _send(self, datagram: bytes, peer: str) -> None:
        for _ in range(FULL_TRIES):
            try:
                self._socket.sendto(datagram, socket.MSG_DONTWAIT, peer)
            except OSError as error:
                if error.errno in (errno.EAGAIN, errno.ENOBUFS):
                    time.sleep(FULL_PAUSE_SECONDS)
                    continue
                if error.errno == errno.ECONNREFUSED:  # its process has died without leaving
                    Path(peer).unlink(missing_ok=True)
                self._looked_at = float("-inf")
            return

    def peers(self) -> list[str]:
        """The sockets of the others."""
        now = time.monotonic()
        if now - self._looked_at > LOOK_SECONDS:
            self._looked_at = now
            found = sorted(str(path) for path in self._folder.glob(f"*{SUFFIX}"))
            self._peers = [path for path in found if path != str(self._path)]
        return self._peers

    def _hear_all(self) -> None:
        while not self._stopped:
            try:
                datagram = self._socket.recv(_RING.size * MOST_RINGS)
            except OSError:
                return
            if rings := unpack(datagram):
                self._hear(rings)


def pack(rings: Sequence[Ring]) -> bytes:
    """Rings as a datagram; a head that is not known is 0, which no event has."""
    return b"".join(_RING.pack(r.recipient_id, r.project_id, r.head or 0) for r in rings)


def unpack(datagram: bytes) -> list[Ring]:
    """The rings of a datagram; none where it is none of ours."""
    if len(datagram) % _RING.size:
        log.warning("datagram_refused bytes=%s", len(datagram))
        return []
    return [Ring(r, p, head or None) for r, p, head in _RING.iter_unpack(datagram)]

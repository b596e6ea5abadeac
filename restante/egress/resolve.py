"""Names to addresses: asked once a call, with a deadline, in a pool of its own.

The system's resolver has no deadline and may hang for half a minute; nothing but lookups waits for
it. Who wires gives the pool: one of real threads, also where the rest of the process is cooperative.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from threading import Semaphore
from time import monotonic
from typing import Any

from restante.egress.refusal import CallFailed, Cause

# (host, port, seconds) -> addresses as text; raises CallFailed
Resolver = Callable[[str, int, float], Sequence[str]]
Lookup = Callable[..., list[tuple[Any, ...]]]

THREADS = 16


class PooledResolver:
    """The system's resolver behind `threads` threads of an executor.

    A place is kept until its lookup really ends, so lookups that were given up on cannot pile up.
    """

    def __init__(
        self, executor: Executor, threads: int, *, lookup: Lookup = socket.getaddrinfo
    ) -> None:
        self._executor = executor
        self._places = Semaphore(threads)
        self._lookup = lookup

    def __call__(self, host: str, port: int, seconds: float) -> Sequence[str]:
        """The addresses of a host, IPv4 and IPv6; raises CallFailed."""
        end = monotonic() + seconds
        if not self._places.acquire(timeout=seconds):
            raise CallFailed(Cause.LOOKUP, "every lookup of this process hangs")
        try:
            future = self._executor.submit(self._look_up, host, port)
        except BaseException:
            self._places.release()
            raise
        future.add_done_callback(lambda _: self._places.release())
        try:
            found = future.result(timeout=max(0.0, end - monotonic()))
        except TimeoutError:
            raise CallFailed(Cause.LOOKUP, f"no answer about {host} in {seconds:.1f} s") from None
        if isinstance(found, str):
            raise CallFailed(Cause.LOOKUP, f"{host}: {found}")
        return [row[4][0] for row in found]

    def _look_up(self, host: str, port: int) -> list[tuple[Any, ...]] | str:
        """The resolver's rows, or its error: one raised in a thread of gevent's is a page in the log."""
        try:
            return self._lookup(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        except (OSError, UnicodeError) as error:
            return str(error)

"""Free loopback ports for servers that tests start."""

from __future__ import annotations

import random
import socket

# The system hands out ports from 32768 for outgoing connections: one of those may be taken at any moment.
LOWEST, HIGHEST = 15000, 32000


def is_free(port: int) -> bool:
    """Tell whether a server could listen on the loopback port now."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """A port that nobody listens on; drawn at random, so that parallel runs seldom meet."""
    draw = random.SystemRandom()
    for _ in range(1000):
        port = draw.randrange(LOWEST, HIGHEST)
        if is_free(port):
            return port
    raise RuntimeError(f"no free port between {LOWEST} and {HIGHEST}")

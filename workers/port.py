"""Whether the address to serve on is free: asked before anything is said of being served there."""

from __future__ import annotations

import errno
import socket
import time

from config import SettingsRefused

PATIENCE_SECONDS = 5.0
"""Workers of a `serve` that was killed hold its port until they notice."""
_PAUSE_SECONDS = 0.1


def require_free(host: str, port: int) -> None:
    """Refuse, with a sentence, an address that another program listens on.

    Anything else that stops a server from listening is left to the server to tell.
    """
    end = time.monotonic() + PATIENCE_SECONDS
    while _is_taken(host, port):
        if time.monotonic() > end:
            fault = (
                f"Another program serves on {host}, port {port}: stop that one, or serve on "
                "another port (--port N)."
            )
            raise SettingsRefused([fault])
        time.sleep(_PAUSE_SECONDS)


def _is_taken(host: str, port: int) -> bool:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # as the server will: connections that are still closing are no hindrance
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False

"""Run as a program: under gevent, a lookup that blocks its thread stops nobody, and a call works.

Its arguments: the port of a TLS server, and a file with the authority of its certificate. The
lookups block on a pipe that only another greenlet fills: were the event loop blocked, nothing
would ever fill it.
"""

from __future__ import annotations

from gevent import monkey

monkey.patch_all()

import os  # noqa: E402 - after the patch
import socket  # noqa: E402 - after the patch
import sys  # noqa: E402 - after the patch
from pathlib import Path  # noqa: E402 - after the patch
from typing import Any  # noqa: E402 - after the patch

import gevent  # noqa: E402 - after the patch

from config import load_settings  # noqa: E402 - after the patch
from restante.egress.refusal import CallFailed  # noqa: E402 - after the patch
from workers.egress import make_egress  # noqa: E402 - after the patch

NAME = "hooks.example.com"


def main(port: int, ca_file: Path) -> None:
    """Print `cooperative`, the status and the body."""
    reader, writer = os.pipe()

    def lookup(host: str, port: int, **kinds: int) -> list[tuple[Any, ...]]:
        os.read(reader, 1)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkey.saved["socket"]["getaddrinfo"] = lookup
    settings = load_settings(
        instance=ca_file.parent, egress_allow=f"{NAME}:{port}", egress_ca_file=ca_file
    )
    egress = make_egress(settings)
    url = f"https://{NAME}:{port}/"
    hanging = gevent.spawn(failure, egress, url, 0.05)
    assert hanging.get() == "lookup"
    filler = gevent.spawn(os.write, writer, b"..")  # one is for the lookup that was given up
    answer = egress.send("POST", url, fields={}, body=b"{}")
    filler.get()
    print("cooperative", answer.status, answer.body.decode())  # noqa: T201 - it tells its test


def failure(egress: Any, url: str, seconds: float) -> str:
    """Why the judging of a URL came to nothing."""
    try:
        egress.judge(url, seconds=seconds)
    except CallFailed as failed:
        return str(failed.cause)
    return "nothing failed"


main(int(sys.argv[1]), Path(sys.argv[2]))

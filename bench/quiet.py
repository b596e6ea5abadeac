"""What a server does while nothing happens: statements, and processor time of its workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.load import processor_seconds
from bench.product import Product
from tests.support.servers import Server

SETTLE_SECONDS = 5.0
"""What opening things left to do is done by then."""


@dataclass(frozen=True)
class Quiet:
    """`statements`: a second, commits among them; `percent`: of one core, that the web workers took."""

    statements: float
    percent: float


def quiet(
    server: Server, product: Product, seconds: float, meanwhile: Callable[[float], None]
) -> Quiet:
    """Watch for so long; `meanwhile(seconds)` is what this process does, for at most so long a call."""
    _wait(SETTLE_SECONDS, meanwhile)
    pids = product.served.worker_pids()
    began, spent, asked = time.monotonic(), sum(map(processor_seconds, pids)), _questions(server)
    _wait(seconds, meanwhile)
    took = time.monotonic() - began
    spent = sum(map(processor_seconds, pids)) - spent
    return Quiet((_questions(server) - asked) / took, 100 * spent / took)


def _wait(seconds: float, meanwhile: Callable[[float], None]) -> None:
    ends = time.monotonic() + seconds
    while (left := ends - time.monotonic()) > 0:
        meanwhile(min(0.1, left))


def _questions(server: Server) -> int:
    """Statements so far, of all connections."""
    ((_, count),) = server.execute("SHOW GLOBAL STATUS LIKE 'Questions'")
    return int(str(count))

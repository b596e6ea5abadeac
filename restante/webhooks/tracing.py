"""What traces a delivery, if anything does: whoever wires a relay says what."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from restante.webhooks.delivery import Parcel, Result
from restante.webhooks.turns import Turn


class Attempt(Protocol):
    """A delivery under way. `traceparent`: what it is sent with (W3C Trace Context), None: nothing."""

    traceparent: str | None

    def ended(self, result: Result) -> None:
        """What came of it; not called where it was not sent."""


Tracing = Callable[[Turn, Parcel], AbstractContextManager[Attempt]]


class Untraced:
    """It belongs to the trace of its event, and nothing is written of it."""

    def __init__(self, traceparent: str | None) -> None:
        self.traceparent = traceparent

    def ended(self, result: Result) -> None:
        """Nobody wants to know."""


@contextmanager
def untraced(turn: Turn, parcel: Parcel) -> Iterator[Attempt]:
    """What a relay goes by where no spans are sent."""
    yield Untraced(parcel.traceparent)

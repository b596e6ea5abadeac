"""A resolver, a clock and lines that do as they are told and remember what they were asked."""

from __future__ import annotations

from collections.abc import Sequence

from restante.egress.client import Egress
from restante.egress.deadline import Deadline
from restante.egress.dial import Line
from restante.egress.policy import Policy
from restante.egress.ranges import Address
from restante.egress.refusal import CallFailed, Cause
from restante.egress.url import Target

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
PUBLIC = "93.184.215.14"


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Names:
    """The i-th lookup gets the i-th answer, the last one repeats; an error is raised instead."""

    def __init__(self, answers: Sequence[Sequence[str]], *, error: str | None = None) -> None:
        self._answers = answers
        self._error = error
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, seconds: float) -> Sequence[str]:
        self.asked.append(host)
        if self._error is not None:
            raise CallFailed(Cause.LOOKUP, self._error)
        return self._answers[min(len(self.asked), len(self._answers)) - 1]


class CannedLine:
    """Answers with the pieces, then ends."""

    certificate = None

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)
        self.sent = b""
        self.closed = False

    def send(self, data: bytes) -> None:
        self.sent += data

    def receive(self) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""

    def close(self) -> None:
        self.closed = True


class Dialled:
    """Gives out canned lines and keeps the addresses; `refusing` of the first fail, for the cause."""

    def __init__(self, *answers: bytes, refusing: int = 0, cause: Cause = Cause.CONNECT) -> None:
        self._answers = answers or (OK,)
        self._cause = cause
        self._refusing = refusing
        self.addresses: list[str] = []
        self.lines: list[CannedLine] = []

    def __call__(self, address: Address, target: Target, deadline: Deadline) -> Line:
        self.addresses.append(str(address))
        if len(self.addresses) <= self._refusing:
            raise CallFailed(self._cause, "as it was told")
        line = CannedLine(self._answers[min(len(self.lines), len(self._answers) - 1)])
        self.lines.append(line)
        return line


def canned(
    policy: Policy | None = None, *, names: Names | None = None, dial: Dialled | None = None
) -> Egress:
    """An egress that touches no network."""
    return Egress(
        policy or Policy(),
        resolver=names or Names([[PUBLIC]]),
        dial=dial or Dialled(),
        clock=Clock(),
    )

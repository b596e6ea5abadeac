"""Client processes that wait for work: each has a connection of its own, and all begin at once."""

from __future__ import annotations

import http.client
import itertools
import multiprocessing
import time
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bench import raw
from bench.sides import IDLE_SECONDS
from tests.http.hot_calls import Answer, Carry, Request

fork = multiprocessing.get_context("fork")
clock = time.monotonic
START_SECONDS = 60.0
SLICE_SECONDS = 120.0
COMMIT = None
"""Among statements."""

Do = Callable[[Any], None]


class Slice(NamedTuple):
    """What all of them did: calls a second, and the seconds of each call."""

    rate: float
    laps: list[float]


class Crew:
    """So many processes; `open_one()` is called in each and gives what it does with a piece of work."""

    def __init__(self, open_one: Callable[[], Do], count: int) -> None:
        self._barrier = fork.Barrier(count)
        self._members = [self._start(open_one) for _ in range(count)]

    def _start(self, open_one: Callable[[], Do]) -> tuple[Any, Any]:
        mine, theirs = fork.Pipe()
        process = fork.Process(target=_serve, args=(open_one, self._barrier, theirs), daemon=True)
        process.start()
        theirs.close()
        return process, mine

    def run(self, work: Sequence[Sequence[Any]]) -> Slice:
        """A list of pieces for each member; they do them one after another, side by side."""
        members = self._members[: len(work)]
        for (_, pipe), pieces in zip(members, work, strict=True):
            pipe.send(pieces)
        answers = [_answer(pipe) for _, pipe in members]
        if faults := [one for one in answers if isinstance(one, str)]:
            raise RuntimeError(min(faults, key=lambda fault: "BrokenBarrier" in fault))
        seconds = max(laps[-1] for laps in answers) - min(laps[0] for laps in answers)
        laps = [b - a for ends in answers for a, b in itertools.pairwise(ends)]
        return Slice(len(laps) / seconds, laps)

    def close(self) -> None:
        """End them."""
        for process, pipe in self._members:
            pipe.close()
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()


def _answer(pipe: Any) -> Any:
    if not pipe.poll(SLICE_SECONDS):
        return "a client gave no answer"
    try:
        return pipe.recv()
    except EOFError:
        return "a client died"


def _serve(open_one: Callable[[], Do], barrier: Any, pipe: Any) -> None:
    try:
        do = open_one()
        while True:
            pieces = pipe.recv()
            barrier.wait(START_SECONDS)
            ends = [clock()]
            for piece in pieces:
                do(piece)
                ends.append(clock())
            pipe.send(ends)
    except EOFError:
        return
    except Exception:  # noqa: BLE001 - it is told to the parent
        barrier.abort()
        pipe.send(traceback.format_exc())


def carrier(port: int) -> Carry:
    """Sends requests over a connection that is kept."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    used = clock()

    def carry(request: Request) -> Answer:
        nonlocal used
        if clock() - used > IDLE_SECONDS:
            connection.close()
        headers = dict(request.headers)
        connection.request(request.method, request.path, request.body or None, headers)
        answer = connection.getresponse()
        content = answer.read()
        used = clock()
        return Answer(answer.status, content)

    return carry


def caller(port: int) -> Callable[[], Do]:
    """Members that send requests, each over a connection of its own."""

    def open_one() -> Do:
        carry = carrier(port)

        def do(request: Request) -> None:
            answer = carry(request)
            if answer.status not in (200, 201):
                raise RuntimeError(f"{request.path}: {answer.status} {answer.body[:300]!r}")

        return do

    return open_one


def asker(host: str, port: int, database: str) -> Callable[[], Do]:
    """Members that send statements, and COMMIT where it stands among them."""

    def open_one() -> Do:
        connection = raw.connect(host, port, database)
        return lambda statements: replay(connection, statements)

    return open_one


def replay(connection: raw.Connection, statements: Sequence[str | None]) -> None:
    """Send them and read the answers; a statement that was refused when recorded is refused here."""
    with connection.cursor() as cursor:
        for statement in statements:
            if statement is COMMIT:
                connection.commit()
            else:
                cursor.execute(statement)
                cursor.fetchall()

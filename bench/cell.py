"""One cell: so many client processes publish for a while, then claim and ack for a while."""

from __future__ import annotations

import itertools
import multiprocessing
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from bench.load import processor_seconds
from bench.payloads import payloads
from bench.sides import Client

fork = multiprocessing.get_context("fork")
clock = time.monotonic
FILL_SECONDS = 20.0
STEP_SECONDS = 60.0


class Slice(NamedTuple):
    """What one client did. `dry`: a call found nothing, which ended it."""

    began: float
    ended: float
    events: int
    laps: list[float]
    dry: bool
    spent: tuple[float, ...]


@dataclass(frozen=True)
class Half:
    """What all clients did in one of the two slices."""

    events: int
    seconds: float
    p50_ms: float
    p99_ms: float
    # of processor time: the clients, then each of the servers that were watched
    spent: tuple[float, ...]

    @property
    def rate(self) -> float:
        """Events a second."""
        return self.events / self.seconds

    @property
    def processor_us(self) -> float:
        """What an event cost clients and servers together, in microseconds of processor time."""
        return 1e6 * sum(self.spent) / self.events


@dataclass(frozen=True)
class Cell:
    """`dry`: an inbox ran empty, so the claims were not all full ones."""

    publish: Half
    consume: Half
    dry: bool
    twice: int


def run(
    open_client: Callable[[int], Client],
    *,
    clients: int,
    batch: int,
    seconds: float,
    servers: Sequence[int] = (),
    settle: Callable[[], None] | None = None,
) -> Cell:
    """Run a cell; `open_client(number)` is called in each client's process.

    `servers`: the processes whose processor time counts besides that of the clients. `settle` is called
    by one of them between the halves.
    """
    barrier = fork.Barrier(clients)
    children, pipes = [], []
    for number in range(clients):
        mine, theirs = fork.Pipe(duplex=False)
        first = number == 0
        child = fork.Process(
            target=_client,
            args=(open_client, number, batch, seconds, barrier, theirs),
            kwargs={"servers": servers if first else (), "settle": settle if first else None},
            daemon=True,
        )
        child.start()
        theirs.close()
        children.append(child)
        pipes.append(mine)
    try:
        answers = [_answer(pipe) for pipe in pipes]
    finally:
        for child in children:
            child.join(5)
            if child.is_alive():
                child.kill()
                child.join()
    faults = [a for a in answers if isinstance(a, str)]
    if faults:
        raise RuntimeError(min(faults, key=lambda f: "BrokenBarrier" in f))
    seen = [identity for answer in answers for identity in answer["seen"]]
    return Cell(
        publish=_half([a["publish"] for a in answers]),
        consume=_half([a["consume"] for a in answers]),
        dry=any(a["dry"] for a in answers),
        twice=len(seen) - len(set(seen)),
    )


def _answer(pipe: Any) -> Any:
    if not pipe.poll(4 * STEP_SECONDS):
        return "a client gave no answer"
    try:
        return pipe.recv()
    except EOFError:
        return "a client died"


def _half(slices: Sequence[Slice]) -> Half:
    laps = sorted(lap for part in slices for lap in part.laps)
    return Half(
        events=sum(part.events for part in slices),
        seconds=max(part.ended for part in slices) - min(part.began for part in slices),
        spent=(
            sum(part.spent[0] for part in slices),
            *(
                sum(column)
                for column in zip(
                    *(part.spent[1:] for part in slices if part.spent[1:]), strict=True
                )
            ),
        ),
        p50_ms=1000 * laps[len(laps) // 2],
        p99_ms=1000 * laps[min(len(laps) - 1, int(0.99 * len(laps)))],
    )


def _client(
    open_client: Callable[[int], Client],
    number: int,
    batch: int,
    seconds: float,
    barrier: Any,
    pipe: Any,
    *,
    servers: Sequence[int],
    settle: Callable[[], None] | None,
) -> None:
    try:
        client = open_client(number)
        bodies = payloads(number)
        seen: list[int] = []
        published = warm = 0
        # warm both halves, and learn how fast the second is
        for _ in range(3):
            client.publish(list(itertools.islice(bodies, batch)))
            published += batch
        began = clock()
        for _ in range(2):
            warm += _consume_one(client, batch, seen)
        rate = warm / (clock() - began)
        barrier.wait(STEP_SECONDS)
        publish = _slice(
            seconds,
            servers,
            lambda: (client.publish(list(itertools.islice(bodies, batch))), batch)[1],
        )
        published += publish.events
        barrier.wait(STEP_SECONDS)
        # enough to claim from; this is not measured
        ends = clock() + FILL_SECONDS
        while published - warm < rate * seconds * 2 + 3 * batch and clock() < ends:
            client.publish(list(itertools.islice(bodies, 100)))
            published += 100
        if settle:
            settle()
        barrier.wait(STEP_SECONDS)
        consume = _slice(seconds, servers, lambda: _consume_one(client, batch, seen))
        barrier.wait(STEP_SECONDS)
        client.close()
        pipe.send({"publish": publish, "consume": consume, "dry": consume.dry, "seen": seen})
    except Exception:  # noqa: BLE001 - it is told to the parent
        barrier.abort()
        pipe.send(traceback.format_exc())


def _consume_one(client: Client, batch: int, seen: list[int]) -> int:
    claimed = client.claim(batch)
    if claimed:
        client.ack(claimed)
        for payload in client.payloads(claimed):
            read = payload if isinstance(payload, dict) else orjson.loads(payload)
            seen.append(read["id"])
    return len(claimed)


def _slice(seconds: float, servers: Sequence[int], work: Callable[[], int]) -> Slice:
    """A closed loop. A call that found nothing ends it, and its wait does not count."""
    laps: list[float] = []
    events, dry = 0, False
    spent = _spent(servers)
    began = now = clock()
    while now < began + seconds:
        done = work()
        if not done:
            dry = True
            break
        before, now = now, clock()
        events += done
        laps.append(now - before)
    after = _spent(servers)
    return Slice(
        began, now, events, laps, dry, tuple(b - a for a, b in zip(spent, after, strict=True))
    )


def _spent(servers: Sequence[int]) -> tuple[float, ...]:
    return (time.process_time(), *(processor_seconds(pid) for pid in servers))

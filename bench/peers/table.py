"""What was measured side by side, as a page shows it, and the verdict on each promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median

from bench.peers.measure import Row
from bench.peers.peer import Peer
from bench.report import HALVES, Promise

AHEAD = 1.0
Figures = dict[tuple[str, str, int], list[float]]
"""{(peer, half, batch): a figure of each round}."""

PROMISED = (
    ("http", "procrastinate", tuple(HALVES), (1, 10, 100)),
    ("http", "celery", tuple(HALVES), (1, 10, 100)),
    ("http", "pgqueuer", tuple(HALVES), (1,)),
    ("engine", "pgqueuer", ("consume",), (1, 10, 100)),
)
"""(side of the product, peer, halves, batches): there it is ahead."""


def figures(rows: Sequence[Row], figure: str = "rate") -> Figures:
    """Of each half (rate, processor_us), in the order of the rounds."""
    found: Figures = {}
    for row in rows:
        for half in HALVES if row.cell else ():
            key = (row.peer, half, row.batch)
            found.setdefault(key, []).append(getattr(getattr(row.cell, half), figure))
    return found


def tables(
    rows: Sequence[Row], peers: Sequence[Peer], left_out: Mapping[str, str]
) -> Iterable[str]:
    """Markdown: events a second, median (least to most); processor time; settings; what is missing."""
    batches = sorted({row.batch for row in rows})
    yield "Events a second: the median of the rounds (least to most)."
    yield ""
    yield from _table(figures(rows), peers, batches, _spread)
    yield from (f"- {line}" for line in _notes(rows, peers, left_out))
    yield ""
    yield "Processor time of an event, clients and servers together, in microseconds: the median."
    yield ""
    yield from _table(figures(rows, "processor_us"), peers, batches, lambda f: f"{median(f):,.0f}")
    yield "Settings, as each server told them:"
    yield ""
    yield from (f"- {peer.name}: {peer.said}" for peer in peers)


def _table(
    found: Figures,
    peers: Sequence[Peer],
    batches: Sequence[int],
    shown: Callable[[Sequence[float]], str],
) -> Iterable[str]:
    heads = [f"{name} b{batch}" for name in HALVES.values() for batch in batches]
    yield f"| | {' | '.join(heads)} |"
    yield f"|---|{'--:|' * len(heads)}"
    for peer in peers:
        cells = [
            shown(found[key]) if (key := (peer.name, half, batch)) in found else "-"
            for half in HALVES
            for batch in batches
        ]
        yield f"| {peer.name}{'' if peer.durable else ' (not durable)'} | {' | '.join(cells)} |"
    yield ""


def _spread(values: Sequence[float]) -> str:
    return f"{median(values):,.0f} ({min(values):,.0f} - {max(values):,.0f})"


def _notes(
    rows: Sequence[Row], peers: Sequence[Peer], left_out: Mapping[str, str]
) -> Iterable[str]:
    """What a reader of the figures has to know: nothing is missing without a word."""
    most = max(row.batch for row in rows)
    for peer in peers:
        if peer.publishes < most:
            yield f"{peer.name}: a call takes {peer.publishes} at most"
        elif peer.claims < most:
            yield f"{peer.name}: a claim takes {peer.claims} at most, whatever the batch"
        if peer.remark:
            yield f"{peer.name}: {peer.remark}"
    for name, reason in left_out.items():
        yield f"{name}: left out: {reason}"
    for row in rows:
        name = f"{row.peer} b{row.batch}, round {row.round + 1}"
        if row.fault:
            yield f"{name}: failed: {row.fault.splitlines()[-1]}"
        elif row.cell and row.cell.dry:
            yield f"{name}: a queue ran dry, so the time was shorter"
    twice = sum(row.cell.twice for row in rows if row.cell)
    yield f"events handed out twice: {twice}; cells that failed: {sum(bool(r.fault) for r in rows)}"


def promises(rows: Sequence[Row]) -> Iterable[Promise]:
    """The product's rate to that of a peer, on each database server.

    A peer that takes no such batch is judged by the largest that it takes.
    """
    found = {key: median(values) for key, values in figures(rows).items()}
    measured = dict.fromkeys(row.peer for row in rows)
    batches = {row.batch for row in rows}
    for side, peer, halves, promised in PROMISED:
        for mine in (name for name in measured if name.startswith(f"{side}-")):
            for half in halves:
                for batch in (batch for batch in promised if batch in batches):
                    theirs = _nearest(found, (peer, half, batch))
                    rate = found.get((mine, half, batch))
                    if theirs and rate:
                        what = f"{mine}: {HALVES[half]} at batch {batch}, of {peer}"
                        yield Promise(what, rate / theirs, AHEAD, at_least=True)


def _nearest(
    found: Mapping[tuple[str, str, int], float], key: tuple[str, str, int]
) -> float | None:
    peer, half, batch = key
    taken = [b for name, part, b in found if (name, part) == (peer, half) and b <= batch]
    return found[peer, half, max(taken)] if taken else None

"""Cell by cell through all peers, on one machine and in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.cell import Cell, run
from bench.load import Load
from bench.peers.peer import Peer

CLIENTS = 16


@dataclass(frozen=True)
class Row:
    """One cell as it was measured; `fault`: why it has no figures."""

    peer: str
    batch: int
    round: int
    cell: Cell | None
    load: dict[str, float]
    fault: str = ""

    def told(self) -> dict[str, Any]:
        """For the result file."""
        rates = {}
        if self.cell:
            rates = {"publish": self.cell.publish.rate, "consume": self.cell.consume.rate}
        return {**asdict(self), **rates}


def measure(
    peers: Sequence[Peer],
    *,
    batches: Sequence[int],
    rounds: int,
    seconds: float,
    clients: int = CLIENTS,
    calm: Callable[[], None] = lambda: None,
) -> Iterator[Row]:
    """A batch after the other, through all peers whose calls take so many; the direction turns each round."""
    for number in range(rounds):
        for batch in batches:
            taking = [peer for peer in peers if batch <= peer.publishes]
            for peer in taking if number % 2 == 0 else reversed(taking):
                calm()
                load = Load()
                cell, fault = _cell(peer, batch, seconds, clients)
                yield Row(peer.name, batch, number, cell, load.told(), fault)


def _cell(peer: Peer, batch: int, seconds: float, clients: int) -> tuple[Cell | None, str]:
    """One that failed (an ack that was not taken, a server that is gone) ends no run: it is told."""
    try:
        cell = run(
            peer.opener(clients),
            clients=clients,
            batch=batch,
            seconds=seconds,
            servers=peer.processes(),
            settle=peer.settle,
        )
    except Exception as error:  # noqa: BLE001 - any of a dozen libraries'
        return None, str(error).strip() or type(error).__name__
    return cell, ""

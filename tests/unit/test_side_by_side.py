"""The bench beside other queues: what its table shows, and how its promises are judged."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.cell import Cell, Half
from bench.peers.measure import Row, measure
from bench.peers.opened import open_each
from bench.peers.peer import Peer
from bench.peers.table import figures, promises, tables
from bench.sides import Client
from tests.support.unavailable import Unavailable


def half(rate: float) -> Half:
    return Half(events=int(rate), seconds=1.0, p50_ms=1.0, p99_ms=2.0, spent=(0.5, 0.5))


def row(peer: str, batch: int, rate: float, *, number: int = 0, twice: int = 0) -> Row:
    cell = Cell(publish=half(rate), consume=half(rate / 2), dry=False, twice=twice)
    return Row(peer, batch, number, cell, {})


class Told(Peer):
    def __init__(
        self, name: str, *, publishes: int = 100, claims: int = 100, durable: bool = True
    ) -> None:
        self.name, self.said = name, f"fsync of {name}"
        self.publishes, self.claims, self.durable = publishes, claims, durable

    def opener(self, clients: int) -> Callable[[int], Client]:
        raise RuntimeError("the server is gone")

    def processes(self) -> list[int]:
        return []


def shown(rows: list[Row], peers: list[Peer], **left_out: str) -> str:
    return "\n".join(tables(rows, peers, left_out))


def test_a_figure_is_the_median_of_its_rounds_with_least_and_most() -> None:
    rows = [row("redis", 1, rate, number=n) for n, rate in enumerate((1000, 4000, 2000))]
    assert "| redis | 2,000 (1,000 - 4,000) | 1,000 (500 - 2,000) |" in shown(rows, [Told("redis")])
    assert figures(rows, "processor_us")["redis", "publish", 1] == [1000.0, 250.0, 500.0]


def test_what_is_not_durable_is_marked_and_settings_are_told() -> None:
    page = shown([row("moto", 1, 10)], [Told("moto", durable=False)])
    assert "| moto (not durable) |" in page
    assert "- moto: fsync of moto" in page


def test_nothing_is_missing_without_a_word() -> None:
    peers: list[Peer] = [Told("single", publishes=1), Told("serial", claims=1), Told("whole")]
    rows = [row("single", 1, 10), row("serial", 10, 10), row("whole", 10, 10, twice=3)]
    rows.append(Row("whole", 1, 1, None, {}, "Traceback\nRuntimeError: an ack was not taken"))
    peers[2].remark = "acks are not synced"
    page = shown(rows, peers, nats="no such package")
    assert "- whole: acks are not synced" in page
    assert "- single: a call takes 1 at most" in page
    assert "- serial: a claim takes 1 at most" in page
    assert "- nats: left out: no such package" in page
    assert "- whole b1, round 2: failed: RuntimeError: an ack was not taken" in page
    assert "- events handed out twice: 3; cells that failed: 1" in page
    assert "| single | 10 (10 - 10) | - | 5 (5 - 5) | - |" in page


def test_a_side_is_judged_by_the_median_on_each_server() -> None:
    rows = [row("pgqueuer", 1, 100), row("http-mariadb", 1, 150), row("http-mysql", 1, 90)]
    judged = {promise.what: promise.kept for promise in promises(rows)}
    assert judged == {
        "http-mariadb: publish at batch 1, of pgqueuer": True,
        "http-mariadb: claim + ack at batch 1, of pgqueuer": True,
        "http-mysql: publish at batch 1, of pgqueuer": False,
        "http-mysql: claim + ack at batch 1, of pgqueuer": False,
    }


def test_one_without_batches_is_judged_by_the_largest_it_takes() -> None:
    rows = [row("celery", 1, 100), row("http-mariadb", 100, 400)]
    assert {promise.figure for promise in promises(rows)} == {4.0}


def test_what_was_not_measured_is_not_judged() -> None:
    assert not list(promises([row("http-mariadb", 1, 10)]))
    failed = Row("celery", 1, 0, None, {}, "it is gone")
    assert not list(promises([row("http-mariadb", 1, 10), failed]))


def test_the_direction_turns_each_round_and_a_call_takes_what_it_takes() -> None:
    peers = [Told("a"), Told("b", publishes=1), Told("c")]
    rows = list(measure(peers, batches=[1, 10], rounds=2, seconds=1))
    assert [(r.peer, r.batch) for r in rows[:5]] == [
        *(("a", 1), ("b", 1), ("c", 1)),
        *(("a", 10), ("c", 10)),
    ]
    assert [(r.peer, r.batch) for r in rows[5:]] == [
        *(("c", 1), ("b", 1), ("a", 1)),
        *(("c", 10), ("a", 10)),
    ]
    assert {r.fault for r in rows} == {"the server is gone"}


@pytest.mark.parametrize("error", [Unavailable("not installed"), OSError("no file")])
def test_a_peer_that_cannot_be_had_is_left_out_with_the_reason(error: Exception) -> None:
    def refuse() -> Peer:
        raise error

    peers: list[Peer] = []
    left_out = open_each({"gone": refuse, "here": lambda: Told("here")}, peers)
    assert left_out == {"gone": str(error)}
    assert [peer.name for peer in peers] == ["here"]

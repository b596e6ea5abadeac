"""Rings between processes of a host."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from restante.signals.neighbours import MOST_RINGS, Neighbours, pack, unpack
from restante.signals.rings import Ring
from tests.support.waiting import wait_until

P = b"p" * 16
Heard = list[Ring]


def rings(count: int) -> list[Ring]:
    return [Ring(number.to_bytes(16), P, number or None) for number in range(count)]


@pytest.fixture
def join(tmp_path: Path) -> Iterator[Callable[[], tuple[Neighbours, Heard]]]:
    """Starts a neighbour in the folder; gives it and what it hears."""
    started: list[Neighbours] = []

    def start() -> tuple[Neighbours, Heard]:
        heard: Heard = []
        one = Neighbours(tmp_path, heard.extend)
        one.start()
        started.append(one)
        return one, heard

    yield start
    for one in started:
        one.stop()


def test_everybody_hears_but_who_rings(join: Callable[[], tuple[Neighbours, Heard]]) -> None:
    (first, own), (_, second), (_, third) = join(), join(), join()
    first.ring_many([Ring(b"m" * 16, P, 5), Ring(b"m" * 16, P)])
    for heard in (second, third):
        wait_until(lambda heard=heard: len(heard) == 2, "the rings")
        assert set(heard) == {Ring(b"m" * 16, P, 5), Ring(b"m" * 16, P)}
    assert own == []


def test_more_than_a_datagram_holds(join: Callable[[], tuple[Neighbours, Heard]]) -> None:
    (first, _), (_, heard) = join(), join()
    many = rings(MOST_RINGS * 3 + 7)
    first.ring_many(many)
    wait_until(lambda: len(heard) == len(many), "all rings")
    assert set(heard) == set(many)


def test_a_dead_neighbours_socket_is_removed(
    join: Callable[[], tuple[Neighbours, Heard]], tmp_path: Path
) -> None:
    (first, _), (dead, _) = join(), join()
    socket_file = Path(str(dead._path))
    dead._socket.close()  # a killed process unlinks nothing

    def gone() -> bool:
        # the socket lives until the thread that reads it has come back with one more datagram
        first.ring_many(rings(1))
        return not socket_file.exists()

    wait_until(gone, "the stale socket to go")


def test_who_comes_later_is_found(join: Callable[[], tuple[Neighbours, Heard]]) -> None:
    first, _ = join()
    assert first.peers() == []
    _, heard = join()

    def rung() -> bool:
        first.ring_many(rings(1))
        return bool(heard)

    wait_until(rung, "the newcomer to be rung")


def test_sockets_are_this_users_alone(
    join: Callable[[], tuple[Neighbours, Heard]], tmp_path: Path
) -> None:
    join()
    (file,) = tmp_path.glob("*.ring")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.name.startswith(f"{os.getpid()}-")


def test_a_datagram_that_is_none_of_ours_is_refused() -> None:
    assert unpack(b"hello") == []
    assert unpack(pack(rings(3))) == rings(3)

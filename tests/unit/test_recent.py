"""What a process remembers of bearers and signers: bounded, and renewed by one caller at a time."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from restante.identity.recent import STATE_SECONDS, Cell, Recent


def test_of_many_callers_one_renews_and_the_others_get_what_it_found() -> None:
    cell: Cell[int] = Cell()
    everyone, loads = threading.Barrier(8), []

    def load() -> int:
        loads.append(1)
        return len(loads)

    def ask(_: int) -> int:
        everyone.wait()
        return cell.fresh(lambda: 1.0, load)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {1}
    assert len(loads) == 1


def test_it_is_as_old_as_the_question() -> None:
    """What changed while the answer was on its way is seen in time."""
    cell: Cell[int] = Cell()
    now = [0.0]

    def slow() -> int:
        now[0] += STATE_SECONDS
        return 1

    assert cell.fresh(lambda: now[0], slow) == 1
    assert cell.fresh(lambda: now[0], lambda: 2) == 2


def test_once_expired_it_is_loaded_again_also_where_it_was_on_its_way() -> None:
    cell: Cell[int] = Cell()
    assert cell.fresh(lambda: 0.0, lambda: 1) == 1
    cell.expire()

    def overtaken() -> int:
        cell.expire()
        return 2

    assert cell.fresh(lambda: 0.0, overtaken) == 2
    assert cell.fresh(lambda: 0.0, lambda: 3) == 3
    assert cell.fresh(lambda: 0.0, lambda: 4) == 3


def test_a_failed_renewal_leaves_the_next_to_try() -> None:
    cell: Cell[int] = Cell()

    def fail() -> int:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        cell.fresh(lambda: 0.0, fail)
    assert cell.fresh(lambda: 0.0, lambda: 3) == 3


def test_none_is_an_answer_too() -> None:
    cell: Cell[int | None] = Cell()
    loads: list[None] = []

    def load() -> int | None:
        loads.append(None)
        return None

    for _ in range(3):
        assert cell.fresh(lambda: 0.0, load) is None
    assert len(loads) == 1


def test_the_least_used_go_first() -> None:
    recent: Recent[int, str] = Recent(2)
    recent.put(1, "a")
    recent.put(2, "b")
    recent.get(1)
    recent.put(3, "c")
    assert (recent.get(1), recent.get(2), recent.get(3)) == ("a", None, "c")

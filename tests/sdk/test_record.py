"""The record of finished events: durable, bounded, shared by processes; and consumer names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restante_agent import ConfigurationError
from restante_agent.runtime.consumer import consumer_name
from restante_agent.runtime.record import Finished, Position, Record

WRITER = """
import sys
from pathlib import Path
from restante_agent.runtime.record import Record
record = Record(Path(sys.argv[1]))
for n in range(50):
    record.add(f"evt_{sys.argv[2]}_{n}", {"by": sys.argv[2]})
"""


def test_it_remembers_the_result_across_openings(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "record.sqlite3"
    record = Record(path)
    assert record.find("evt_1") is None
    record.add("evt_1", {"n": 12345678901234567890123})
    record.add("evt_2", None)
    record.add("evt_1", {"n": 2})  # the first stays
    record.close()
    again = Record(path)
    assert again.find("evt_1") == Finished({"n": 12345678901234567890123})
    assert again.find("evt_2") == Finished(None)
    again.close()


def test_the_oldest_go_beyond_the_limit(tmp_path: Path) -> None:
    record = Record(tmp_path / "r", limit=5)
    for number in range(12):
        record.add(f"evt_{number}", None)
    known = [n for n in range(12) if record.find(f"evt_{n}") is not None]
    assert known == [7, 8, 9, 10, 11]
    record.close()


def test_processes_write_one_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "r"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "abc"]
    assert [w.wait(60) for w in writers] == [0, 0, 0]
    record = Record(path)
    assert all(record.find(f"evt_{w}_{n}") for w in "abc" for n in range(50))
    record.close()


@given(st.lists(st.tuples(st.integers(0, 50), st.sampled_from("ab")), max_size=20))
def test_a_position_only_moves_forward_within_an_epoch(moves: list[tuple[int, str]]) -> None:
    record = Record(Path(":memory:"))
    expected: Position | None = None
    for cursor, epoch in moves:
        record.move(Position(cursor, epoch))
        if expected is None or expected.epoch != epoch or expected.cursor < cursor:
            expected = Position(cursor, epoch)
    assert record.position() == expected
    record.reset(Position(0, "a"))
    assert record.position() == Position(0, "a")
    record.close()


def test_a_file_that_is_no_record_is_named(tmp_path: Path) -> None:
    path = tmp_path / "r"
    path.write_bytes(b"not a database, surely not" * 100)
    with pytest.raises(ConfigurationError, match="move it away"):
        Record(path)


def test_a_consumer_name_is_ones_own_and_comes_back(tmp_path: Path) -> None:
    with consumer_name(tmp_path) as first:
        with consumer_name(tmp_path) as second:
            assert first != second
        with consumer_name(tmp_path) as third:
            assert third == second
    with consumer_name(tmp_path) as again:
        assert again == first
    with consumer_name(tmp_path / "other") as elsewhere:
        assert elsewhere != first


def test_a_chosen_name_is_refused_while_it_is_in_use(tmp_path: Path) -> None:
    with consumer_name(tmp_path, "laptop-a") as name:
        assert name == "laptop-a"
        with (
            pytest.raises(ConfigurationError, match="laptop-a"),
            consumer_name(tmp_path, "laptop-a"),
        ):
            pass
    with consumer_name(tmp_path, "laptop-a"):
        pass

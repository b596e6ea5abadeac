"""What a load needs, worked out by `python -m bench.scale`; the page shows what the command prints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.scale import Figures, Load, Machines, fullest, limits, main, moved, plan, shares, wait_ms
from tests.docs.pages import ROOT, blocks

LOAD, FIGURES, MACHINES = Load(), Figures(), Machines()


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    printed = capsys.readouterr().out.strip()
    assert printed in [block.text for block in blocks(ROOT / "docs" / "scale.md")]


def test_the_default_is_what_was_asked_for() -> None:
    assert (LOAD.agents, LOAD.streams, LOAD.events_a_day) == (1_000_000, 100_000, 1e9)
    assert plan(LOAD, FIGURES, MACHINES).peak_rate == pytest.approx(1e9 / 86_400 * LOAD.peak)


def test_twice_the_events_need_twice_the_writers_and_the_disk() -> None:
    still = replace(LOAD, agents=0, streams=0)
    one = plan(still, FIGURES, MACHINES)
    two = plan(replace(still, events_a_day=2e9), FIGURES, MACHINES)
    assert two.groups_by_writer == pytest.approx(2 * one.groups_by_writer)
    assert two.groups_by_disk == pytest.approx(2 * one.groups_by_disk)
    assert two.logged_tb_a_day == pytest.approx(2 * one.logged_tb_a_day)


def test_whichever_is_short_decides_how_many_groups() -> None:
    kept = plan(replace(LOAD, retention_days=30), FIGURES, MACHINES)
    assert kept.groups >= kept.groups_by_disk > kept.groups_by_writer
    brief = plan(replace(LOAD, retention_days=0.1), FIGURES, MACHINES)
    assert brief.groups >= brief.groups_by_writer > brief.groups_by_disk


def test_streams_need_processes_even_where_nothing_happens() -> None:
    quiet = replace(LOAD, events_a_day=0, streams=2_000_000, agents=2_000_000)
    needed = plan(quiet, FIGURES, MACHINES)
    assert needed.web_nodes * MACHINES.cores * FIGURES.streams_a_process >= 2_000_000


def test_the_first_limit_is_one_inbox() -> None:
    found = limits(LOAD, FIGURES, MACHINES)
    assert [events for _, events in found] == sorted(events for _, events in found)
    assert found[0][0] == "one inbox, an event a call"


@pytest.mark.parametrize(("full", "theory"), [(0.5, 0.5), (0.8, 2.0)])
def test_publishers_wait_as_in_a_queue_with_one_server(full: float, theory: float) -> None:
    # M/D/1: the mean wait is full / 2 (1 - full) services; its p99 is a few times that
    service_ms = 10.0
    assert theory * service_ms < wait_ms(100, full, calls=20_000) < 8 * theory * service_ms
    assert wait_ms(100, full) == wait_ms(100, full)


def test_placing_by_size_leaves_groups_alike_and_a_hash_does_not() -> None:
    sizes = shares(replace(LOAD, tenants=1_000))
    assert sum(sizes) == pytest.approx(1)
    assert sizes == sorted(sizes, reverse=True)
    assert 1 <= fullest(sizes, 5, by_size=True) < 1.01 < fullest(sizes, 5, by_size=False)
    assert fullest([0.5, 0.3, 0.2], 1, by_size=False) == pytest.approx(1)


def test_tenants_that_grow_apart_make_groups_unlike() -> None:
    few = replace(LOAD, tenants=1_000)
    assert moved(few, 5, months=0) == pytest.approx(fullest(shares(few), 5, by_size=True))
    assert moved(few, 5, months=24) > moved(few, 5, months=0)


def test_what_is_given_is_worked_out(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--events-a-day", "86400", "--peak", "1", "--agents", "10", "--streams", "10"])
    assert "10 agents, 10 streams, 86,400 events a day" in capsys.readouterr().out

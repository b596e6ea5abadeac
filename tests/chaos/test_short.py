"""The fault suite in short: `make chaos` goes on for as long as one likes, on every database.

A group of three takes a minute to begin: only `make chaos BACKEND=cluster` has it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.acceptance.seeds import say
from tests.chaos.history import Outcome
from tests.chaos.house import Crew, house
from tests.chaos.run import torment
from tests.support.servers import Server
from tests.support.session import known_url

SEED = 20
PACE = 0.35
"""Leases last a second all the same: some end in the middle of a fault, and some do not."""
# the server is the whole run's and stays
FAULTS = (
    "client killed",
    "clients deaf",
    "web worker killed",
    "database cut off",
    "database deaf",
)


@pytest.mark.timeout(300)
def test_every_promise_is_kept_whatever_fails(
    tmp_path: Path, migrated_on: Callable[[str], str]
) -> None:
    if known_url("mariadb") is None:
        pytest.skip("one server is enough, and MariaDB is not among those of this run")
    url = make_url(migrated_on("mariadb"))
    server = Server("mariadb", tmp_path, url.port or 0, (), tied=True)
    crew = Crew(producers=1, agents=1, consumers=2)
    database = url.database or ""
    with house("mariadb", tmp_path, seed=SEED, crew=crew, server=server, database=database) as one:
        report = torment(one, FAULTS, pace=PACE)
    say("\n".join(report.lines()))
    assert report.found == []
    assert [one.name for one in report.faults] == list(FAULTS)
    settled = [c for c in report.calls if c.verb == "ack" and c.outcome is Outcome.OK]
    assert settled, "nobody was at work"

"""The fault suite in short: `make chaos` goes on for as long as one likes, on every database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.seeds import say
from tests.chaos.history import Outcome
from tests.chaos.house import Crew, house
from tests.chaos.run import torment
from tests.support.unavailable import Unavailable

SEED = 20
FAULTS = (
    "client killed",
    "clients deaf",
    "web worker killed",
    "database cut off",
    "database deaf",
    "database killed",
)


@pytest.mark.timeout(400)
def test_every_promise_is_kept_whatever_fails(tmp_path: Path) -> None:
    crew = Crew(producers=1, agents=1, consumers=2)
    try:
        with house("mariadb", tmp_path, seed=SEED, crew=crew) as one:
            report = torment(one, FAULTS)
    except Unavailable as error:
        pytest.skip(str(error))
    say("\n".join(report.lines()))
    assert report.found == []
    assert report.faults.total() == len(FAULTS)
    settled = [c for c in report.calls if c.verb == "ack" and c.outcome is Outcome.OK]
    assert settled, "nobody was at work"

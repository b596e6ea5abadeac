from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.acceptance.arena import arena
from tests.acceptance.github_bodies import Body, bodies
from tests.acceptance.real_input import deliver
from tests.acceptance.real_input_ledger import audit
from tests.acceptance.seeds import new_seed, say
from tests.support.unavailable import Unavailable

KILLS = {"agent": 3, "web worker": 1, "database": 1}
EVERY = 16


@pytest.fixture(scope="module")
def real_bodies() -> list[Body]:
    """A part of them, of all editions and kinds; `make demo` takes all."""
    try:
        return bodies()[::EVERY]
    except Unavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.mark.one_server("mysql")
@pytest.mark.timeout(400)
def test_webhooks_reach_agents_that_were_away_whatever_is_killed(
    backend: str, tmp_path: Path, real_bodies: list[Body]
) -> None:
    seed = new_seed()
    with arena(backend, tmp_path, seed=seed) as one:
        say(audit(deliver(one, real_bodies, seed=seed, say=say, kills=KILLS)))

from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.arena import arena
from tests.acceptance.fire import SHORT, burn
from tests.acceptance.fire_ledger import audit
from tests.acceptance.seeds import new_seed, say


@pytest.mark.servers_only
@pytest.mark.timeout(400)
def test_what_was_acknowledged_is_settled_once_whatever_is_killed(
    backend: str, tmp_path: Path
) -> None:
    """`make acceptance` runs the same with 10,000 events."""
    seed = new_seed()
    with arena(backend, tmp_path, seed=seed) as one:
        say(audit(burn(one, SHORT, seed=seed, say=say)))

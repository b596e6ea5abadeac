from __future__ import annotations

from pathlib import Path

import pytest

from tests.acceptance.seeds import new_seed, say
from tests.acceptance.webhook_fire import SHORT, WebhookFire, burn
from tests.acceptance.webhook_ledger import audit
from tests.support.databases import TestDatabase


@pytest.mark.one_server("mariadb")
@pytest.mark.timeout(120)
def test_every_event_is_delivered_and_acked_once_whatever_is_killed(
    database: TestDatabase, tmp_path: Path
) -> None:
    """`python -m tests.acceptance.full webhooks` runs the same with 5,000 events and more kills."""
    fire = WebhookFire(database, database.url, tmp_path, SHORT, new_seed())
    say(audit(burn(fire, say=say, limit_seconds=100)))
    assert any(one.claim[1] > 1 for one in fire.arrivals)  # what a dead relay had sent came again

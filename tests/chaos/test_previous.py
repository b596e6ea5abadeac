"""The release before at work on this release's schema: what it says to the database is still understood.

`make drill` does it under load, node by node; here each verb is called once, on every database.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.acceptance.stage import Stage, call, token_of
from tests.chaos.rolling import Node, before
from tests.support.ports import free_port
from tests.support.serving import environment
from tests.support.unavailable import had

ERROR = {"code": "e", "message": "m", "outcome": "failed"}


@pytest.fixture
def served(migrated_database_url: str, tmp_path: Path) -> Iterator[Node]:
    """A web node of it."""
    old = had(lambda: before(tmp_path))
    log = tmp_path / "serve.log"
    node = Node(migrated_database_url, old, free_port(), log, {})
    node.wait_until_ready()
    yield node
    node.kill()


@pytest.fixture
def stage(served: Node) -> Iterator[Stage]:
    engine = make_engine(served.database_url)
    yield Stage(Database(engine), served)
    engine.dispose()


def test_the_release_before_works_on_this_schema(stage: Stage, served: Node) -> None:
    grants = [f"agent:p:{verb}" for verb in ("read", "claim", "memory")]
    agent = stage.agent = stage.enrol("worker", grants=grants)
    token, asked = stage.token(agent), stage.address("inbox/")

    def settle(event: dict[str, Any], verb: str, **members: Any) -> str:
        body = {"claim_generation": event["claim_generation"], **members}
        status, told = call(f"{asked}{event['event_id']}/{verb}", token, body)
        assert status == 200, told
        return str(told.get("status", ""))

    published = [stage.publish(payload={"n": n}, ordering_key=f"k{n}") for n in range(4)]
    stage.publish(delay_seconds=3600)
    _, page = call(stage.address("inbox?after_cursor=0"), token)
    assert [event["payload"] for event in page["events"]] == [{"n": n} for n in range(4)]
    first, second, third, fourth = stage.claim(limit=4, lease_seconds=60)
    settle(first, "renew", progress={"half": True})
    assert settle(first, "ack", result={"done": 1}) == "completed"
    assert settle(second, "release", delay_seconds=60, error=ERROR) == "pending"
    assert settle(third, "reject", reason="no") == "quarantined"
    named = {name: fourth[name] for name in ("event_id", "claim_generation")}
    _, told = call(f"{asked}settle", token, {"ack": [named]})
    assert [one["status"] for one in told["results"]] == ["completed"]
    writing = token_of(served.url, agent, scope="agent:p:memory")
    written = call(stage.address("memory/p/k"), writing, {"value": 1}, method="PUT")
    assert written[0] == 200, written
    status, one = call(f"{asked}{published[2]['event_id']}", token)
    assert (status, one["status"], one["attempts"]) == (200, "quarantined", 1)
    _, stats = call(f"{asked}stats", token)
    assert [stats[name] for name in ("pending", "scheduled", "quarantined")] == [1, 1, 1]
    assert call(stage.address("state"), token)[1]["memory"][0]["value"] == 1
    assert "Traceback" not in served.log.read_text()
    served.stop()
    assert maintained(served) == []


def maintained(served: Node) -> list[str]:
    """One pass of its maintenance over what there is → what failed in it."""
    settings = {**served.settings, "RESTANTE_RETENTION_DAYS": "0.00000001"}
    done = subprocess.run(
        served.release.argv("maintain", "--once"),
        env=served.release.env(environment(served.database_url, settings)),
        cwd=served.release.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "retention: inboxes 1, archived" in done.stdout
    return re.findall(r".*(?:failed [1-9]|_failed|Traceback).*", done.stdout)

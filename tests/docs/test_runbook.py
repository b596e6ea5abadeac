"""Each command of the runbook runs at a real installation; what it asks of a host is there."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from restante_agent import Publication
from tests.acceptance.stage import token_of
from tests.docs.pages import ROOT, blocks
from tests.docs.test_monitoring import known
from tests.docs.transcripts import run
from tests.sdk.real_server import Account
from tests.support.serving import Served, environment

ELSEWHERE, HERE = "hooks.example.com", "localhost:8443"  # tests look up no name of the world
SCOPES = ("tenant:agents:write", "tenant:quarantine:write", "tenant:events:publish")
SHOWN = [
    replace(block, text=block.text.replace(ELSEWHERE, HERE))
    for block in blocks(ROOT / "docs" / "runbook.md")
]


def something_in_quarantine(served: Served) -> Mapping[str, str]:
    """An agent whose only event was rejected, and who administers."""
    command = served.command
    tenant = command.create_tenant("acme")
    command.create_project(tenant, "mail")
    made = command.create_agent(tenant, "builder", grants=("agent:mail:read", "agent:mail:claim"))
    admin = command.create_service(tenant, "admin", scopes=SCOPES)
    worker, service = (
        Account(served.url, who["client_id"], who["client_secret"]) for who in (made, admin)
    )
    with service.client() as client:
        client.publish(
            Publication(recipients=[worker.client_id], project="mail", payload={"type": "build"})
        )
    with worker.client() as client:
        (event,) = client.claim().events
        client.reject(event.event_id, event.claim_generation, reason="no such build")
    return {
        "AGENT_ID": worker.client_id,
        "ADMIN_TOKEN": token_of(served.url, admin),
        "PATH": f"{Path(sys.executable).parent}:{environment('', {})['PATH']}",
    }


@pytest.mark.timeout(300)
def test_each_command_runs_at_an_installation(serve: Callable[..., Served], tmp_path: Path) -> None:
    printed = run(
        SHOWN,
        serve,
        tmp_path,
        settings={"RESTANTE_EGRESS_ALLOW": HERE},
        begin=something_in_quarantine,
    )
    said = "\n".join(printed)
    assert "/problems/" not in said
    assert '"status":"live"' in said
    assert 'quarantined_total{reason="rejected"} 1.0' in said


def test_a_figure_that_is_asked_for_is_one() -> None:
    asked = re.findall(r"^figure '?(\w+)", "\n".join(b.text for b in SHOWN), re.MULTILINE)
    assert len(asked) > 10
    assert set(asked) <= known().keys()

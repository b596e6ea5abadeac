"""What arrived, against what was sent: whole, once, in order, and worked anew only after a kill."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise

from tests.acceptance import effect
from tests.acceptance.away import Away
from tests.acceptance.github_bodies import Body
from tests.acceptance.real_input import RealInput


def audit(run: RealInput) -> str:
    """Every body arrived whole, its effect is there once, each repository in order."""
    rows = run.arena.rows(_ROWS)
    assert {f"evt_{row.event_id.hex()}" for row in rows} == run.sent.keys()
    assert all(row.gate == 6 for row in rows)
    repeated = 0
    for agent in run.agents:
        mine = {event: body for event, body in run.sent.items() if run.recipients[event] is agent}
        effects = {f.name: f.read_bytes() for f in (agent.folder / effect.EFFECTS).iterdir()}
        effects = {name: text for name, text in effects.items() if not name.startswith(".")}
        assert effects.keys() == mine.keys()
        assert all(effects[event] == body.text for event, body in mine.items())
        repeated += _check_runs(agent, mine, sorted(agent.hits + run.outages))
    for row in rows:
        body = run.sent[f"evt_{row.event_id.hex()}"]
        assert json.loads(row.result)["sha256"] == hashlib.sha256(body.text).hexdigest()
    repositories = len({(b.edition, b.repository) for b in run.sent.values() if b.repository})
    return (
        f"{len(rows)} bodies arrived equal to the byte, {len(rows)} effects, each once; {repeated} runs "
        f"began again after a kill, {len(run.stale)} settles of ghosts refused, {repositories} "
        "repositories in order"
    )


def _check_runs(agent: Away, mine: dict[str, Body], struck: list[int]) -> int:
    """→ how often a handler began anew: only after a kill, and never once the record had the event."""
    assert agent.record() == mine.keys()
    begun: dict[str, list[int]] = {}
    for one in agent.runs():
        begun.setdefault(one["event"], []).append(one["at"])
    for event, times in begun.items():
        assert times[-1] < agent.finished_by.get(event, times[-1] + 1), (
            f"{event}: the record had it"
        )
        for before, after in pairwise(times):
            assert any(before < hit < after for hit in struck), f"{event} was worked twice"
    keys: dict[tuple[str, str], list[int]] = {}
    for event, body in mine.items():  # in the order of publication
        if body.repository is not None:
            keys.setdefault((body.edition, body.repository), []).append(begun[event][0])
    for key, times in keys.items():
        assert times == sorted(times), f"{key} is out of order"
    return sum(len(times) - 1 for times in begun.values())


_ROWS = (
    "SELECT e.event_id, e.gate, c.result FROM agent_inbox e JOIN event_content c"
    " ON c.recipient_id = e.recipient_id AND c.sequence_number = e.sequence_number"
)

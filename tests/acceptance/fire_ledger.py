"""The books after a fire: what publishers and consumers saw, against what the database has."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

from tests.acceptance.fire import Fire

COMPLETED = 6
Line = dict[str, Any]


def audit(fire: Fire) -> str:
    """Raise AssertionError, naming events, where the books are wrong → a summary."""
    rows = {f"evt_{row.event_id.hex()}": row for row in fire.arena.rows(_ROWS)}
    published = fire.lines("p")
    steps: dict[str, list[Line]] = defaultdict(list)
    for line in fire.lines("c"):
        steps[line["what"]].append(line)
    _nothing_lost_nothing_added(fire, rows, published)
    _dense(fire, rows, published)
    unread = _settled_once(rows, steps)
    _fenced(rows, steps)
    keys = _in_order(rows, published, steps)
    again = sum(row.claim_generation > 1 for row in rows.values())
    return (
        f"{len(rows)} events = {len(published)} acknowledged publications, each settled once; "
        f"{len(steps['released'])} given back, {again} claimed again, "
        f"{len(steps['refused'])} stale settles refused, {unread} acks "
        f"whose answer a killed consumer did not read, {keys} ordering keys in order"
    )


def _nothing_lost_nothing_added(fire: Fire, rows: dict[str, Any], published: list[Line]) -> None:
    twice = [event for event, n in Counter(p["event"] for p in published).items() if n > 1]
    assert not twice, f"acknowledged twice as one event: {twice[:5]}"
    acknowledged = {p["event"] for p in published}
    assert not acknowledged - rows.keys(), f"lost: {sorted(acknowledged - rows.keys())[:5]}"
    assert not rows.keys() - acknowledged, f"nobody's: {sorted(rows.keys() - acknowledged)[:5]}"
    for table in ("scheduled_event", "archived_event"):
        assert fire.arena.number(f"SELECT COUNT(*) FROM {table}") == 0
    open_ones = [event for event, row in rows.items() if row.gate != COMPLETED]
    assert not open_ones, f"not settled: {open_ones[:5]}"


def _dense(fire: Fire, rows: dict[str, Any], published: list[Line]) -> None:
    inboxes: dict[bytes, list[int]] = defaultdict(list)
    for row in rows.values():
        inboxes[row.recipient_id].append(row.sequence_number)
    heads = {row.recipient_id: row.head for row in fire.arena.rows(_HEADS)}
    for recipient, numbers in inboxes.items():
        assert sorted(numbers) == list(range(1, len(numbers) + 1)), f"holes in {recipient.hex()}"
        assert heads[recipient] == len(numbers)
    for line in published:
        if line["sequence"] is not None:  # it was for now
            assert line["sequence"] == rows[line["event"]].sequence_number, line


def _settled_once(rows: dict[str, Any], steps: dict[str, list[Line]]) -> int:
    """→ how many acks were carried out whose answer nobody read."""
    accepted: dict[str, list[int]] = defaultdict(list)
    for line in steps["acked"]:
        accepted[line["event"]].append(line["generation"])
    sent = {(line["event"], line["generation"]) for line in steps["acking"]}
    unread = 0
    for event, row in rows.items():
        assert accepted[event] in ([row.claim_generation], []), (
            f"{event} was completed by claim {row.claim_generation}, accepted were {accepted[event]}"
        )
        assert (event, row.claim_generation) in sent, f"{event} was completed by nobody"
        unread += not accepted[event]
    return unread


def _fenced(rows: dict[str, Any], steps: dict[str, list[Line]]) -> None:
    for line in steps["refused"]:
        assert line["generation"] != rows[line["event"]].claim_generation, (
            f"refused its holder: {line}"
        )
    holders = Counter((line["event"], line["generation"]) for line in steps["got"])
    shared = [claim for claim, n in holders.items() if n > 1]
    assert not shared, f"one claim, two holders: {shared[:5]}"


def _in_order(rows: dict[str, Any], published: list[Line], steps: dict[str, list[Line]]) -> int:
    """→ how many (inbox, ordering key) there were."""
    number = {line["event"]: line["number"] for line in published}
    got: dict[str, list[Line]] = defaultdict(list)
    for line in steps["got"]:
        got[line["event"]].append(line)
    sent = {(line["event"], line["generation"]): line["at"] for line in steps["acking"]}
    keys: dict[tuple[bytes, bytes], list[str]] = defaultdict(list)
    for event, row in sorted(rows.items(), key=lambda pair: pair[1].sequence_number):
        if row.key_hash is not None:
            keys[row.recipient_id, row.key_hash].append(event)
    for events in keys.values():
        assert [rows[e].ordering_sequence for e in events] == list(range(1, len(events) + 1))
        assert [number[e] for e in events] == sorted(number[e] for e in events), events
        for before, after in pairwise(events):
            settled = sent[before, rows[before].claim_generation]
            assert all(line["at"] >= settled for line in got[after]), f"{after} overtook {before}"
        claims = [sorted((line["generation"], line["fence"]) for line in got[e]) for e in events]
        fences = [fence for claim in claims for _, fence in claim]
        assert all(a < b for a, b in pairwise(fences)), f"a fence went back: {fences}"
    return len(keys)


_ROWS = (
    "SELECT event_id, recipient_id, sequence_number, gate, claim_generation, key_hash,"
    " ordering_sequence FROM agent_inbox"
)
_HEADS = "SELECT recipient_id, head FROM inbox"

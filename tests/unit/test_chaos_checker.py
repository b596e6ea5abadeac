"""The checker of the fault suite finds what is wrong: a right run, and one spoilt for every rule."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.chaos.books import Books, Row
from tests.chaos.broken.sitecustomize import BROKEN
from tests.chaos.checker import RULES, violations
from tests.chaos.claims import SECOND
from tests.chaos.history import Call, Journal, Outcome, calls, read_lines


def call(verb: str, at: float, status: int, asked: dict[str, Any], told: dict[str, Any]) -> Call:
    """Sent at an instant in seconds, answered a tenth later; status 0: never."""
    sent = int(at * SECOND)
    answered = sent + SECOND // 10 if status else None
    return Call(
        client="c",
        verb=verb,
        asked=asked,
        sent_at=sent,
        status=status,
        told=told,
        answered_at=answered,
    )


def publish(at: float, number: int, *, status: int = 201) -> Call:
    """Event `e<number>`, the number's in inbox `a`, of key `k`."""
    item = {"name": f"n{number}", "recipients": ["a"], "ordering_key": "k"}
    event = {"event_id": f"e{number}", "recipient_id": "a", "sequence_number": number}
    told = {"events": [event]} if status == 201 else {}
    return call("publish", at, status, {"key": f"call-{number}", "items": [item]}, told)


def claim(at: float, number: int, generation: int = 1, *, fence: int, attempts: int = 1) -> Call:
    """A lease of one second."""
    event = {
        "event_id": f"e{number}",
        "generation": generation,
        "fence": fence,
        "attempts": attempts,
        "max_attempts": 2,
        "remaining_ms": 950,
    }
    asked = {"claim_id": f"claim-{number}-{generation}", "lease_seconds": 1}
    return call("claim", at, 200, asked, {"events": [event]})


def ack(at: float, number: int, generation: int = 1, *, status: int = 200) -> Call:
    return call("ack", at, status, {"event_id": f"e{number}", "generation": generation}, {})


def read(at: float, after: int, up_to: int, numbers: list[int]) -> Call:
    return call("read", at, 200, {"after": after}, {"next_cursor": up_to, "numbers": numbers})


def row(number: int, **members: Any) -> Row:
    right: dict[str, Any] = {
        "event_id": f"e{number}",
        "recipient_id": "a",
        "name": f"n{number}",
        "status": "completed",
        "sequence": number,
        "generation": 1,
        "attempts": 1,
        "max_attempts": 2,
        "key": "k",
        "ordering_sequence": number,
    }
    return Row(**(right | members))


HISTORY = {
    "p1": publish(0, 1),
    "p1 again": publish(0.5, 1),
    "p2": publish(1, 2),
    "c1": claim(2, 1, fence=1),
    "a1": ack(2.5, 1),
    "a1 late": ack(9, 1),
    "c2": claim(3, 2, fence=2),
    "a2 stale": ack(3.2, 2, 7, status=409),
    "a2": ack(3.5, 2),
    "r": read(5, 0, 2, [1, 2]),
}
ROWS = {1: row(1), 2: row(2)}


def broken(history: dict[str, Call | None], rows: dict[int, Row | None], head: int = 2) -> set[str]:
    """The rules that find something once these calls and rows are exchanged, added or taken away."""
    made = [c for c in (HISTORY | history).values() if c is not None]
    there = [r for r in (ROWS | rows).values() if r is not None]
    found = violations(sorted(made, key=lambda c: c.sent_at), Books(there, {"a": head}))
    return {violation.rule for violation in found}


def test_a_right_run_is_right() -> None:
    assert broken({}, {}) == set()


def test_a_call_whose_outcome_is_open_may_have_happened_or_not() -> None:
    lost = publish(6, 3, status=0)
    assert broken({"p3": lost}, {}) == set()
    assert broken({"p3": lost}, {3: row(3, status="pending", generation=0, attempts=0)}, 3) == set()
    assert broken({"a2": replace(HISTORY["a2"], status=503, told={})}, {}) == set()


WRONG: dict[str, Callable[[], set[str]]] = {
    "nothing_lost": lambda: broken({}, {2: None}, 1),
    "nothing_torn": lambda: broken({"p2": None}, {}),
    "keys_answered_once": lambda: broken({}, {3: row(3, name="n1", key=None, status="pending")}, 3),
    "dense": lambda: broken({}, {}, 3),
    "commit_order": lambda: broken(
        {"p1": publish(2, 1), "p1 again": None, "p2": publish(0, 2)}, {}
    ),
    "nothing_skipped": lambda: broken({"r": read(5, 0, 2, [2])}, {}),
    "no_stale_settle": lambda: broken({"a2 stale": ack(3.2, 2, 7)}, {}),
    "one_holder": lambda: broken({"c2 twice": claim(3.1, 2, 2, fence=3)}, {}),
    "keys_in_order": lambda: broken({}, {1: row(1, ordering_sequence=2)}),
    "within_attempts": lambda: broken({}, {2: row(2, status="pending", attempts=2)}),
    "no_fault": lambda: broken({"r": call("read", 5, 500, {"after": 0}, {})}, {}),
}


def test_every_rule_has_a_wrong_run() -> None:
    assert WRONG.keys() == RULES.keys()


@pytest.mark.parametrize("rule", WRONG)
def test_a_wrong_run_is_found(rule: str) -> None:
    assert rule in WRONG[rule]()


def test_other_ways_to_be_wrong() -> None:
    """What a rule looks at besides."""
    other = publish(0.5, 1)
    other.told["events"][0]["event_id"] = "e9"
    assert {"keys_answered_once", "nothing_lost"} <= broken({"p1 again": other}, {})
    assert "no_stale_settle" in broken({"a2": ack(4.9, 2)}, {})  # its lease was over
    assert "no_stale_settle" in broken({"a2": None}, {})  # completed, and nobody acked
    assert "no_stale_settle" in broken({}, {2: row(2, status="pending", generation=2)})
    assert "keys_in_order" in broken({"c2": claim(3, 2, fence=1)}, {})  # the fence stood still
    assert "keys_in_order" in broken({"c2": claim(2.2, 2, fence=2)}, {})  # before e1 was acked
    assert "within_attempts" in broken({"c2": claim(3, 2, fence=2, attempts=3)}, {})
    assert "nothing_lost" in broken({}, {2: row(2, name="n7")})


def test_what_was_written_down_is_read_whatever_was_cut_off(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "c.jsonl")
    journal.write(call="1", client="c", verb="ack", asked={"event_id": "e1", "generation": 1})
    journal.write(call="2", client="c", verb="ack", asked={"event_id": "e2", "generation": 1})
    journal.write(call="1", status=409, told={"reason": "reclaimed"})
    with (tmp_path / "c.jsonl").open("a") as file:
        file.write('{"call":"2","status":200,"to')
    one, two = calls(read_lines(tmp_path / "c.jsonl"))
    assert (one.outcome, one.told["reason"]) == (Outcome.REFUSED, "reclaimed")
    assert (two.outcome, two.answered_at) == (Outcome.AMBIGUOUS, None)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_build_spoils_something_that_is_there(name: str) -> None:
    """What a run must catch is not a build that is whole because a name has changed."""
    module, spoil = BROKEN[name]
    whole = vars(importlib.import_module(module))
    classes = {k: type(k, (v,), {}) for k, v in whole.items() if k == "Retention"}
    spoilt = SimpleNamespace(**whole | classes)
    members = {k: set(vars(v)) for k, v in classes.items()}
    spoil(spoilt)
    changed = {k for k, v in vars(spoilt).items() if k not in classes and whole[k] is not v}
    changed |= {m for k in classes for m in set(vars(vars(spoilt)[k])) - members[k]}
    assert len(changed) == 1
    assert all(hasattr(spoilt, part) or hasattr(whole["Retention"], part) for part in changed)

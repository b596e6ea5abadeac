"""docs/state-machine.md, the CHECKs of the schema and the lifecycle say the same."""

from __future__ import annotations

import re

from sqlalchemy import CheckConstraint, Table

from restante.inbox.lifecycle import FINAL, FINAL_GATES, STATUS_OF, TRANSITIONS, Gate, Verb
from restante.storage.tables.events import agent_inbox, archived_event, scheduled_event
from tests.docs.pages import ROOT, blocks

PAGE = ROOT / "docs" / "state-machine.md"


def test_the_diagram_is_the_table_of_transitions() -> None:
    (diagram,) = [block.text for block in blocks(PAGE) if block.language == "mermaid"]
    drawn = set(re.findall(r"^\s*(\w+) --> (\w+): (\w+)$", diagram, re.MULTILINE))
    assert drawn == {
        (before.value, after.value, verb.value)
        for (before, verb), afters in TRANSITIONS.items()
        for after in afters
    }


def test_the_diagram_ends_where_states_are_final() -> None:
    (diagram,) = [block.text for block in blocks(PAGE) if block.language == "mermaid"]
    assert set(re.findall(r"(\w+) --> \[\*\]", diagram)) == {status.value for status in FINAL}
    assert not {before for before, _ in TRANSITIONS} & FINAL


def test_every_verb_is_explained() -> None:
    said = set(
        re.findall(
            r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE))
        )
    )
    assert said == {verb.value for verb in Verb}


def test_the_gates_are_those_of_the_page() -> None:
    rows = re.findall(r"^\| ([A-Z]+) \| (\d) \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    assert rows == [(gate.name, str(gate.value), STATUS_OF[gate].value) for gate in Gate]


def checks(table: Table) -> dict[str, str]:
    """The CHECKs of a table, by name."""
    return {
        str(one.name).removeprefix(f"ck_{table.name}_"): str(one.sqltext)
        for one in table.constraints
        if isinstance(one, CheckConstraint)
    }


def test_the_schema_knows_the_same_gates() -> None:
    last, claimed = max(Gate).value, Gate.CLAIMED.value
    before_final, ended = min(FINAL_GATES) - 1, Gate.QUARANTINED.value
    assert sorted(FINAL_GATES) == list(range(before_final + 1, last + 1))
    assert checks(agent_inbox) == {
        "gate": f"gate BETWEEN {Gate.CLAIMABLE.value} AND {last}",
        "claimed_has_deadline": f"(gate = {claimed}) = (claim_expires_at IS NOT NULL)",
        "claimed_has_consumer": f"(gate = {claimed}) = (consumer IS NOT NULL)",
        "ended_has_no_timer": f"gate < {ended} OR due_at IS NULL",
        "final_has_instant": f"(gate > {before_final}) = (final_at IS NOT NULL)",
        "waiting_has_key": f"gate <> {Gate.WAITING.value} OR key_hash IS NOT NULL",
    }
    waits, cancelled = Gate.SCHEDULED.value, Gate.CANCELLED.value
    assert checks(scheduled_event) == {
        "gate": f"gate IN ({waits}, {cancelled})",
        "scheduled_has_timer": f"(gate = {waits}) = (due_at IS NOT NULL)",
        "final_has_instant": f"(gate = {cancelled}) = (final_at IS NOT NULL)",
    }
    assert checks(archived_event) == {"gate": f"gate BETWEEN {min(FINAL_GATES).value} AND {last}"}

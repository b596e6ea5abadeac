from __future__ import annotations

import pytest

from restante.errors import InsufficientScope, NotFound
from restante.identity.scopes import Verb
from restante.storage.ids import new_id
from tests.engine.snapshot import unchanged
from tests.factories import Mailbox, Tenant


def test_every_state_can_be_read_by_its_id(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    with unchanged(mail.database):
        told = {name: mail.read(event) for name, event in gallery.items()}
    assert {name: t["status"] for name, t in told.items()} == {
        "archived": "completed",
        "expired": "expired",
        "completed": "completed",
        "quarantined": "quarantined",
        "delayed": "pending",
        "claimed": "claimed",
        "waiting": "pending",
        "asked": "claimed",
        "cancelled": "cancelled",
        "scheduled": "scheduled",
        "unscheduled": "cancelled",
        "pending": "pending",
    }
    without = {name for name, t in told.items() if t["payload"] is None}
    assert without == {"archived", "completed", "quarantined"}
    assert told["completed"]["result"] == {"done": True}
    assert {name for name, t in told.items() if t["sequence_number"] is None} == {
        "scheduled",
        "unscheduled",
    }
    members = set(told["pending"])
    assert all(set(t) == members for t in told.values())
    assert [e["kind"] for e in told["asked"]["timeline"]] == ["cancel_requested"]
    assert told["waiting"]["ordering_sequence"] == 2


def test_what_is_not_covered_is_not_there(mail: Mailbox, tenant: Tenant) -> None:
    mine = mail.publish(project="q").event_id
    other = tenant.agent()
    theirs = other.publish().event_id
    for reader, event in ((mail.only("p"), mine), (mail, theirs), (mail, new_id())):
        with pytest.raises(NotFound):
            reader.read(event)
    claimer = tenant.agent("p", verbs=[Verb.CLAIM])
    with pytest.raises(InsufficientScope):
        claimer.read(new_id())

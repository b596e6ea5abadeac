from __future__ import annotations

import pytest

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor
from restante.errors import InboxFull, NotFound
from restante.inbox import failures
from restante.inbox.lifecycle import Gate
from restante.inbox.quarantine import (
    DEDUP_HORIZON,
    BeyondDedupHorizon,
    LaterSettled,
    NotQuarantined,
    Superseded,
    discard,
    redrive,
)
from restante.inbox.triage.amend import amend
from restante.storage.ids import new_id
from restante.storage.tables.inboxes import inbox
from tests.engine.snapshot import only_changing, unchanged
from tests.factories import Mailbox, make_tenant, pass_time


def test_a_redrive_keeps_id_sequence_and_generation_and_opens_a_new_budget(
    mail: Mailbox, gallery: dict[str, bytes]
) -> None:
    event = gallery["quarantined"]
    before = mail.row(event)
    with only_changing(mail.database, event):
        mail.redrive(event, actor="opr_1", reason="the disk is larger now")
    row = mail.row(event)
    assert (row.gate, row.attempts, row.releases, row.redriven) == (Gate.CLAIMABLE, 0, 0, True)
    assert (row.sequence_number, row.claim_generation) == (
        before.sequence_number,
        before.claim_generation,
    )
    read = mail.read(event)
    assert (read["redriven"], read["payload"]) == (True, {"a": 1, "b": "é"})
    entry = read["timeline"][-1]
    assert (entry["kind"], entry["actor"], entry["reason"]) == (
        "redriven",
        "opr_1",
        "the disk is larger now",
    )
    taken = [e for e in mail.take("q") if e.id == event]
    assert taken[0].generation == before.claim_generation + 1
    assert taken[0].told["redriven"] is True


def test_a_discard_is_final_and_keeps_the_payload(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    event = gallery["quarantined"]
    with only_changing(mail.database, event):
        mail.discard(event, "a test of ours")
    read = mail.read(event)
    assert (read["status"], read["payload"]) == ("cancelled", {"a": 1, "b": "é"})
    assert [e["kind"] for e in read["timeline"]][-1] == "discarded"


def test_only_what_is_in_quarantine(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    for name, event in gallery.items():
        if name == "quarantined":
            continue
        for verb in (mail.redrive, mail.discard):
            with unchanged(mail.database), pytest.raises(NotQuarantined):
                verb(event)


def test_another_tenants_event_is_not_there(mail: Mailbox, gallery: dict[str, bytes]) -> None:
    foreign = make_tenant(mail.database)
    for verb in (redrive, discard):
        for event in (gallery["quarantined"], new_id()):
            with unchanged(mail.database), pytest.raises(NotFound):
                mail.run(
                    lambda s, v=verb, e=event: v(s, foreign.id, e, actor="opr_x", reason="mine")
                )


def test_a_passed_expiry_is_cleared_and_one_to_come_is_kept(mail: Mailbox) -> None:
    passed = mail.publish(max_attempts=1, expires_in_seconds=5).event_id
    coming = mail.publish(max_attempts=1, expires_in_seconds=500).event_id
    for event in mail.take():
        mail.fail(event)
    pass_time(mail.database, 10)
    for event in (passed, coming):
        mail.redrive(event)
    assert mail.row(passed).expires_at is mail.row(passed).due_at is None
    row = mail.row(coming)
    assert row.due_at == row.expires_at is not None
    pass_time(mail.database, 500)
    mail.run_due()
    assert (mail.gate(passed), mail.gate(coming)) == (Gate.CLAIMABLE, Gate.EXPIRED)


def quarantine_head(mail: Mailbox) -> bytes:
    event = mail.take_one()
    mail.reject(event)
    return event.id


def test_a_redriven_event_of_a_key_joins_the_waiting_ones(mail: Mailbox) -> None:
    ids = [mail.publish(ordering_key="k").event_id for _ in range(4)]
    assert quarantine_head(mail) == ids[0]
    with only_changing(mail.database, ids[0]):
        mail.redrive(ids[0])
    assert [mail.gate(e) for e in ids] == [2, 1, 2, 2]
    mail.ack(mail.take_one())
    assert [mail.gate(e) for e in ids] == [1, 6, 2, 2]
    head = mail.take_one()
    assert (head.id, head.told["redriven"], head.told["ordering_sequence"]) == (ids[0], True, 1)
    assert mail.take() == []


def test_running_late_needs_force(mail: Mailbox) -> None:
    ids = [mail.publish(ordering_key="k").event_id for _ in range(3)]
    quarantine_head(mail)
    mail.ack(mail.take_one())
    with unchanged(mail.database), pytest.raises(LaterSettled):
        mail.redrive(ids[0])
    mail.redrive(ids[0], force=True)
    assert [mail.gate(e) for e in ids] == [2, 6, 1]


def test_what_lies_in_quarantine_as_well_is_not_settled(mail: Mailbox) -> None:
    """A key's events that failed together are redriven in sequence order without force."""
    ids = [mail.publish(ordering_key="k").event_id for _ in range(3)]
    for _ in ids:
        quarantine_head(mail)
    for event in ids:
        mail.redrive(event)
    assert [mail.gate(e) for e in ids] == [1, 2, 2]


def test_the_fence_of_a_redriven_event_lies_above_all_before(mail: Mailbox) -> None:
    for _ in range(2):
        mail.publish(ordering_key="k")
    fences = []
    first = mail.take_one()
    fences.append(first.told["fence"])
    mail.release(first)
    first = mail.take_one()
    fences.append(first.told["fence"])
    mail.reject(first)
    second = mail.take_one()
    fences.append(second.told["fence"])
    mail.redrive(first.id)
    mail.ack(second)
    fences.append(mail.take_one().told["fence"])
    assert fences == [1, 2, 3, 4]


def test_a_project_may_hold_the_key_until_the_head_is_redriven(database) -> None:
    mail = make_tenant(database, "p", on_quarantine="hold").agent()
    ids = [mail.publish(ordering_key="k").event_id for _ in range(2)]
    fences = []
    for _ in range(2):
        event = mail.take_one()
        fences.append(event.told["fence"])
        mail.release(event)
    event = mail.take_one()
    fences.append(event.told["fence"])
    mail.reject(event)
    assert (mail.take(), mail.gate(ids[1])) == ([], Gate.WAITING)
    mail.redrive(ids[0])
    again = mail.take_one()
    fences.append(again.told["fence"])
    assert (again.id, mail.gate(ids[1])) == (ids[0], Gate.WAITING)
    mail.ack(again)
    fences.append(mail.take_one().told["fence"])
    assert fences == [1, 2, 3, 4, 5]


def test_a_held_key_goes_on_when_its_head_is_discarded(database) -> None:
    for end in ("discard", "cancel"):
        mail = make_tenant(database, "p", on_quarantine="hold").agent()
        ids = [mail.publish(ordering_key="k").event_id for _ in range(2)]
        quarantine_head(mail)
        assert mail.take() == []
        getattr(mail, end)(ids[0])
        head = mail.take_one()
        assert (head.id, head.told["fence"]) == (ids[1], 2)


def test_quarantined_events_count_as_pending_again_once_redriven(mail: Mailbox) -> None:
    mail.set_limits(max_pending=4)
    mail.publish_many(mail.publication(max_attempts=1) for _ in range(3))
    poisoned = mail.take()
    for event in poisoned:
        mail.fail(event)
    for _ in range(2):
        mail.publish()
    for event in poisoned:
        mail.redrive(event.id)
    with pytest.raises(InboxFull):
        mail.publish()


def test_what_its_agent_may_have_forgotten_needs_force(mail: Mailbox) -> None:
    event = mail.publish().event_id
    quarantine_head(mail)
    far = inbox.update().where(inbox.c.recipient_id == mail.id)
    mail.run(lambda s: s.connection().execute(far.values(head=DEDUP_HORIZON + 2)))
    with unchanged(mail.database), pytest.raises(BeyondDedupHorizon):
        mail.redrive(event)
    mail.redrive(event, force=True)
    assert mail.gate(event) is Gate.CLAIMABLE


def test_what_is_not_yet_beyond_the_horizon_needs_none(mail: Mailbox) -> None:
    event = mail.publish().event_id
    quarantine_head(mail)
    near = inbox.update().where(inbox.c.recipient_id == mail.id)
    mail.run(lambda s: s.connection().execute(near.values(head=DEDUP_HORIZON + 1)))
    mail.redrive(event)
    assert mail.gate(event) is Gate.CLAIMABLE


def test_what_another_event_has_superseded_is_not_redriven(mail: Mailbox) -> None:
    event = mail.publish().event_id
    quarantine_head(mail)
    mail.run(lambda s: failures.supersede(s, event, new_id()))
    for force in (False, True):
        with unchanged(mail.database), pytest.raises(Superseded):
            mail.redrive(event, force=force)
    by = Actor(ActorKind.SERVICE, mail.tenant.service.public_id)
    with unchanged(mail.database), pytest.raises(Superseded):
        mail.run(lambda s: amend(s, mail.tenant.id, event, b"{}", by=by, reason="it was wrong"))
    mail.discard(event)

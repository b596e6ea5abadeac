from __future__ import annotations

import pytest
from sqlalchemy import update

from restante.errors import ValidationFailed
from restante.inbox import failures
from restante.inbox.lifecycle import Gate
from restante.inbox.quarantine import DEDUP_HORIZON
from restante.inbox.triage import jobs, selection
from restante.inbox.triage.causes import list_groups
from restante.inbox.triage.jobs import Action, State
from restante.inbox.triage.selection import Filter
from restante.storage.ids import new_id
from restante.storage.tables.identity import principal
from restante.storage.tables.inboxes import inbox
from tests.engine.triage import EVERYTHING, admin_of, order, poison, read, start, work_off
from tests.factories import Mailbox, pass_time


def test_running_late_needs_force(mail: Mailbox) -> None:
    ids = [mail.publish(ordering_key="k").event_id for _ in range(3)]
    mail.reject(mail.take_one())
    mail.ack(mail.take_one())
    mail.reject(mail.take_one())
    told = mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), order(EVERYTHING)))
    assert (told.matched, told.later_settled, told.total) == (2, 1, 1)
    start(mail, order(EVERYTHING))
    work_off(mail)
    assert [mail.gate(e) for e in ids] == [Gate.QUARANTINED, Gate.COMPLETED, Gate.CLAIMABLE]
    start(mail, order(EVERYTHING, force=True))
    work_off(mail)
    assert mail.gate(ids[0]) is Gate.WAITING


def test_what_its_agent_may_have_forgotten_needs_force(mail: Mailbox) -> None:
    ids = poison(mail, 1)
    head = DEDUP_HORIZON + 1
    for more, forgotten in ((0, 0), (1, 1)):
        moved = inbox.update().where(inbox.c.recipient_id == mail.id).values(head=head + more)
        mail.run(lambda s, moved=moved: s.connection().execute(moved))
        told = mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), order(EVERYTHING)))
        assert (told.beyond_dedup_horizon, told.total) == (forgotten, 1 - forgotten)
    job_id = start(mail, order(EVERYTHING))
    assert read(mail, job_id).state is State.COMPLETED
    assert mail.gate(ids[0]) is Gate.QUARANTINED
    start(mail, order(EVERYTHING, force=True))
    work_off(mail)
    assert mail.gate(ids[0]) is Gate.CLAIMABLE


def test_a_discard_job_needs_no_force(mail: Mailbox) -> None:
    ids = [mail.publish(ordering_key="k").event_id for _ in range(2)]
    mail.reject(mail.take_one())
    mail.ack(mail.take_one())
    start(mail, order(EVERYTHING, Action.DISCARD))
    work_off(mail)
    assert [mail.gate(e) for e in ids] == [Gate.CANCELLED, Gate.COMPLETED]


def test_what_went_on_in_another_event_is_meant_by_no_redrive(mail: Mailbox) -> None:
    gone, other = poison(mail, 2)
    mail.run(lambda s: failures.supersede(s, gone, new_id()))
    for action, meant in ((Action.REDRIVE, 1), (Action.DISCARD, 2)):
        asked = order(EVERYTHING, action, force=True)
        told = mail.run(lambda s, asked=asked: jobs.count(s, admin_of(mail.tenant), asked))
        assert (told.matched, told.total) == (meant, meant)
    with pytest.raises(ValidationFailed) as refused:
        start(mail, order([other, gone]))
    (fault,) = refused.value.members["errors"]
    assert fault["pointer"] == "/event_ids/1"
    assert "superseded_by" in fault["detail"]
    start(mail, order([gone], Action.DISCARD))
    work_off(mail)
    assert mail.gate(gone) is Gate.CANCELLED


def remove(mail: Mailbox) -> None:
    gone = update(principal).where(principal.c.principal_id == mail.id).values(status="removed")
    mail.run(lambda s: s.connection().execute(gone))


def test_nothing_goes_back_to_an_agent_that_is_removed(mail: Mailbox) -> None:
    """Counted apart, of no other count, and left out; it may be discarded."""
    gone = mail.tenant.agent()
    (left,) = poison(gone, 1)
    late = [gone.publish(ordering_key="k").event_id for _ in range(2)]
    gone.reject(gone.take_one())
    gone.ack(gone.take_one())
    poison(mail, 2)
    remove(gone)
    for more in ({}, {"force": True}, {"merge_patch": b'{"n":1}'}):
        action = Action.PATCH if "merge_patch" in more else Action.REDRIVE
        asked = order(EVERYTHING, action, **more)
        told = mail.run(lambda s, asked=asked: jobs.count(s, admin_of(mail.tenant), asked))
        assert (told.matched, told.removed, told.total, told.later_settled) == (4, 2, 2, 0)
        assert [many for _, many in told.inboxes] == [2]
    start(mail, order(EVERYTHING, force=True))
    work_off(mail)
    assert [mail.gate(one) for one in (left, late[0])] == [Gate.QUARANTINED] * 2
    with pytest.raises(ValidationFailed) as refused:
        start(mail, order([left], Action.AMEND, amended_payload=b"{}"))
    assert "discard it" in refused.value.members["errors"][0]["detail"]
    discard = order(EVERYTHING, Action.DISCARD)
    told = mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), discard))
    assert (told.matched, told.removed, told.total) == (2, None, 2)
    start(mail, discard)
    work_off(mail)
    assert mail.gate(left) is Gate.CANCELLED


@pytest.mark.parametrize("action", [Action.REDRIVE, Action.PATCH])
def test_an_agent_that_is_removed_meanwhile_gets_nothing(mail: Mailbox, action: Action) -> None:
    (one,) = poison(mail, 1)
    patch = b'{"n":1}' if action is Action.PATCH else None
    job_id = start(mail, order(EVERYTHING, action, force=True, merge_patch=patch))
    remove(mail)
    work_off(mail)
    told = read(mail, job_id)
    assert (told.done, told.skipped, mail.gate(one)) == (0, 1, Gate.QUARANTINED)


def test_each_part_of_a_filter_narrows(mail: Mailbox) -> None:
    first = poison(mail, 1, message="one")
    pass_time(mail.database, 60)
    poison(mail, 1, message="two", project="q")
    other = mail.tenant.agent()
    poison(other, 1, message="three")
    admin = admin_of(mail.tenant)

    def found(**members) -> int:
        wanted = order(Filter(**members))
        return mail.run(lambda s: jobs.count(s, admin, wanted)).matched

    groups = {g.message: g for g in mail.run(lambda s: list_groups(s, admin, EVERYTHING))}
    assert found() == 3
    assert found(failure_signature=groups["one"].failure_signature) == 1
    assert found(recipient_id=other.id) == 1
    assert found(project_id=mail.tenant.projects["q"].id) == 1
    assert found(code="nobody's") == 0
    assert found(quarantine_reason="attempts_exhausted") == 3
    assert found(quarantine_reason="rejected") == 0
    assert found(until=groups["two"].first_at) == 1
    assert found(since=groups["two"].first_at) == 2
    assert groups["one"].sample_id == first[0]


def test_a_selection_is_bounded_and_says_so(mail: Mailbox, monkeypatch) -> None:
    ids = poison(mail, 3)
    monkeypatch.setattr(selection, "MOST", 2)
    told = mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), order(EVERYTHING)))
    assert (told.matched, told.capped) == (2, True)
    start(mail, order(EVERYTHING))
    work_off(mail)
    assert [mail.gate(e) for e in ids] == [Gate.CLAIMABLE, Gate.CLAIMABLE, Gate.QUARANTINED]


@pytest.mark.parametrize("name", ["quarantine_reason", "failure_signature"])
def test_what_is_not_ascii_has_nothing_in_quarantine(mail: Mailbox, name: str) -> None:
    """Its columns are: MariaDB and MySQL refuse to compare them with anything else."""
    poison(mail, 1)
    asked = order(Filter(**{name: "\xa0"}))
    assert mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), asked)).total == 0

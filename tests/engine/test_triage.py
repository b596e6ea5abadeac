from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from restante.audit.listing import list_entries
from restante.errors import InsufficientScope, NotFound, ValidationFailed
from restante.identity.scopes import TenantScope
from restante.inbox.lifecycle import Gate
from restante.inbox.triage import jobs
from restante.inbox.triage.carrying_out import carry_out_next, take
from restante.inbox.triage.causes import list_groups
from restante.inbox.triage.jobs import Action, State
from restante.inbox.triage.listing import list_quarantined
from restante.storage.ids import Prefix, encode_id, new_id
from tests.engine.snapshot import unchanged
from tests.engine.triage import EVERYTHING, admin_of, order, poison, read, start, work_off
from tests.factories import Mailbox, make_tenant, pass_time
from workers.triage import EVENTS, Triage


def test_a_dry_run_counts_and_changes_nothing(mail: Mailbox) -> None:
    poison(mail, 3)
    with unchanged(mail.database):
        told = mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), order(EVERYTHING)))
    assert (told.job_id, told.matched, told.total, told.later_settled) == (None, 3, 3, 0)


def test_a_job_redrives_in_sequence_order_and_says_who_and_why(mail: Mailbox) -> None:
    ids = poison(mail, 3)
    job_id = start(mail, order(EVERYTHING))
    assert (read(mail, job_id).state, read(mail, job_id).total) == (State.RUNNING, 3)
    assert work_off(mail) == 3
    job = read(mail, job_id)
    assert (job.state, job.done, job.skipped) == (State.COMPLETED, 3, 0)
    assert job.finished_at is not None
    assert [mail.gate(e) for e in ids] == [Gate.CLAIMABLE] * 3
    entry = mail.read(ids[0])["timeline"][-1]
    assert (entry["kind"], entry["actor"], entry["reason"]) == (
        "redriven",
        mail.tenant.service.public_id,
        "the disk is larger now",
    )
    page = mail.run(lambda s: list_entries(s, mail.tenant.id, limit=10))
    told = page.entries[0]
    assert (told.action, told.target) == ("event.redrive", encode_id(Prefix.JOB, job_id))
    assert told.reason == "3 events: the disk is larger now"


def test_what_comes_into_quarantine_later_is_not_the_jobs_business(mail: Mailbox) -> None:
    poison(mail, 1)
    start(mail, order(EVERYTHING))
    late = poison(mail, 1)
    work_off(mail)
    assert mail.gate(late[0]) is Gate.QUARANTINED


def test_staggered_events_go_one_after_another(mail: Mailbox) -> None:
    ids = poison(mail, 3)
    job_id = start(mail, order(EVERYTHING, stagger_seconds=60))
    assert work_off(mail) == 1
    assert [mail.gate(e) for e in ids] == [Gate.CLAIMABLE, Gate.QUARANTINED, Gate.QUARANTINED]
    assert work_off(mail) == 0
    pass_time(mail.database, 61)
    assert work_off(mail) == 1
    pass_time(mail.database, 61)
    assert work_off(mail) == 1
    assert (read(mail, job_id).state, read(mail, job_id).done) == (State.COMPLETED, 3)


def test_a_cancelled_job_does_no_more(mail: Mailbox) -> None:
    ids = poison(mail, 2)
    job_id = start(mail, order(EVERYTHING, stagger_seconds=60))
    work_off(mail)
    ended = mail.run(lambda s: jobs.cancel(s, admin_of(mail.tenant), job_id))
    assert (ended.state, ended.done) == (State.CANCELLED, 1)
    pass_time(mail.database, 3600)
    assert work_off(mail) == 0
    assert mail.gate(ids[1]) is Gate.QUARANTINED
    again = mail.run(lambda s: jobs.cancel(s, admin_of(mail.tenant), job_id))
    assert again == ended


def test_a_worker_that_was_killed_leaves_its_job_to_the_next(mail: Mailbox) -> None:
    ids = poison(mail, 2)
    start(mail, order(EVERYTHING))
    job_id = mail.run(take)
    assert mail.run(lambda s: carry_out_next(s, job_id, most=1)) == 1
    assert mail.run(take) is None  # somebody has it
    pass_time(mail.database, 31)
    assert work_off(mail) == 1
    assert [mail.gate(e) for e in ids] == [Gate.CLAIMABLE] * 2


def test_a_pass_is_bounded_and_the_job_goes_on(mail: Mailbox) -> None:
    poison(mail, EVENTS + 5)
    job_id = start(mail, order(EVERYTHING))
    assert Triage(mail.database).run_once() == {"events": EVENTS, "more": 1}
    work_off(mail)
    assert (read(mail, job_id).done, read(mail, job_id).state) == (EVENTS + 5, State.COMPLETED)


def test_an_event_that_has_left_quarantine_is_passed_over(mail: Mailbox) -> None:
    ids = poison(mail, 3)
    job_id = start(mail, order(EVERYTHING))
    mail.discard(ids[1])
    work_off(mail)
    job = read(mail, job_id)
    assert (job.done, job.skipped, job.state) == (2, 1, State.COMPLETED)
    assert mail.gate(ids[1]) is Gate.CANCELLED


def test_what_was_archived_meanwhile_is_passed_over(mail: Mailbox) -> None:
    ids = poison(mail, 2)
    job_id = start(mail, order(EVERYTHING))
    for event_id in ids:
        mail.discard(event_id)
    pass_time(mail.database, days=31)
    assert mail.retain() == 2
    work_off(mail)
    job = read(mail, job_id)
    assert (job.done, job.skipped, job.state) == (0, 2, State.COMPLETED)


@pytest.mark.parametrize("stagger", [0, 60])
@pytest.mark.parametrize("action", [Action.REDRIVE, Action.DISCARD])
def test_what_failed_again_since_a_job_was_made_is_passed_over(
    mail: Mailbox, action: Action, stagger: int
) -> None:
    first, other = poison(mail, 2)
    job_id = start(mail, order(EVERYTHING, action, stagger_seconds=stagger))
    mail.redrive(first)
    mail.fail(mail.take_one())
    work_off(mail)
    pass_time(mail.database, 61)
    work_off(mail)
    job = read(mail, job_id)
    assert (job.done, job.skipped, job.state) == (1, 1, State.COMPLETED)
    assert mail.gate(first) is Gate.QUARANTINED
    assert mail.gate(other) is not Gate.QUARANTINED


def test_two_jobs_over_the_same_events_redrive_each_once(mail: Mailbox) -> None:
    ids = poison(mail, 2)
    made = [start(mail, order(EVERYTHING, stagger_seconds=pause)) for pause in (60, 0)]
    work_off(mail)
    for event in mail.take():
        mail.fail(event)
    pass_time(mail.database, 61)
    work_off(mail)
    told = [read(mail, job_id) for job_id in made]
    assert {job.state for job in told} == {State.COMPLETED}
    assert [sum(job.done for job in told), sum(job.skipped for job in told)] == [2, 2]
    for event_id in ids:
        kinds = [entry["kind"] for entry in mail.read(event_id)["timeline"]]
        assert kinds.count("redriven") == 1


def test_ids_that_are_not_in_quarantine_are_named_and_nothing_is_done(mail: Mailbox) -> None:
    ids = poison(mail, 1)
    foreign = poison(make_tenant(mail.database).agent(), 1)
    plain = mail.publish().event_id
    wanted = order([ids[0], foreign[0], plain, None, new_id()])
    with unchanged(mail.database), pytest.raises(ValidationFailed) as refused:
        start(mail, wanted)
    assert [e["pointer"] for e in refused.value.members["errors"]] == [
        f"/event_ids/{n}" for n in (1, 2, 3, 4)
    ]


def test_what_has_changed_since_it_was_counted_is_not_done(mail: Mailbox) -> None:
    poison(mail, 2)
    with unchanged(mail.database), pytest.raises(jobs.SelectionChanged):
        start(mail, order(EVERYTHING, expected=3))
    assert read(mail, start(mail, order(EVERYTHING, expected=2))).total == 2


def test_another_tenants_job_and_quarantine_are_not_there(mail: Mailbox) -> None:
    poison(mail, 1)
    job_id = start(mail, order(EVERYTHING))
    foreign = admin_of(make_tenant(mail.database))
    for verb in (jobs.read, jobs.cancel):
        for named in (job_id, new_id(), None):
            with unchanged(mail.database), pytest.raises(NotFound):
                mail.run(lambda s, v=verb, n=named: v(s, foreign, n))
    assert mail.run(lambda s: jobs.count(s, foreign, order(EVERYTHING))).matched == 0
    assert mail.run(lambda s: list_groups(s, foreign, EVERYTHING)) == []
    assert mail.run(lambda s: list_quarantined(s, foreign, EVERYTHING, limit=10)) == ([], None)


def test_each_verb_wants_its_right(mail: Mailbox) -> None:
    poison(mail, 1)
    job_id = start(mail, order(EVERYTHING))
    reader = replace(admin_of(mail.tenant), scopes=frozenset({TenantScope.QUARANTINE_READ}))
    nobody = replace(reader, scopes=frozenset({TenantScope.EVENTS_READ}))
    refused = [
        (reader, lambda s, a: jobs.start(s, a, order(EVERYTHING))),
        (reader, lambda s, a: jobs.count(s, a, order(EVERYTHING, Action.DISCARD))),
        (reader, lambda s, a: jobs.cancel(s, a, job_id)),
        (nobody, lambda s, a: jobs.read(s, a, job_id)),
        (nobody, lambda s, a: list_groups(s, a, EVERYTHING)),
        (nobody, lambda s, a: list_quarantined(s, a, EVERYTHING, limit=1)),
    ]
    for who, verb in refused:
        with unchanged(mail.database), pytest.raises(InsufficientScope):
            mail.run(lambda s, w=who, v=verb: v(s, w))
    assert mail.run(lambda s: jobs.read(s, reader, job_id)).total == 1


def test_an_amended_event_takes_the_place_of_the_old_one(mail: Mailbox) -> None:
    ids = poison(
        mail, 1, priority=7, correlation_id="c", ordering_key="k", report=frozenset({"cancelled"})
    )
    wanted = order(ids, Action.AMEND, amended_payload=b'{"a": 2}')
    job_id = start(mail, wanted)
    work_off(mail)
    assert read(mail, job_id).done == 1
    assert mail.gate(ids[0]) is Gate.CANCELLED
    taken = mail.take_one()
    old = encode_id(Prefix.EVENT, ids[0])
    assert (taken.told["payload"], taken.told["corrects"]) == ({"a": 2}, old)
    assert (taken.told["priority"], taken.told["correlation_id"]) == (7, "c")
    assert (taken.told["ordering_key"], taken.told["ordering_sequence"]) == ("k", 2)
    assert taken.told["sequence_number"] == 2
    assert taken.told["producer"] == {
        "kind": "service",
        "id": mail.tenant.service.public_id,
        "name": mail.tenant.service.name,
        "signed": False,
    }
    entry = mail.read(ids[0])["timeline"][-1]
    assert entry["reason"] == f"corrected by {taken.told['event_id']}: the disk is larger now"


def test_a_kind_of_failure_is_one_group(mail: Mailbox) -> None:
    poison(mail, 2, message="no column 'a' in row 17")
    poison(mail, 1, message="something else")
    groups = mail.run(lambda s: list_groups(s, admin_of(mail.tenant), EVERYTHING))
    assert [(g.count, g.type, g.capped) for g in groups] == [(2, "t", False), (1, "t", False)]
    assert groups[0].first_at <= groups[0].last_at


def test_the_list_has_payloads_and_goes_on_where_it_ended(mail: Mailbox) -> None:
    ids = poison(mail, 3)
    admin = admin_of(mail.tenant)
    told, token, pages = [], None, 0
    while True:
        page, token = mail.run(
            lambda s, t=token: list_quarantined(s, admin, EVERYTHING, limit=2, token=t)
        )
        told += [orjson.loads(event) for event in page]
        pages += 1
        if token is None:
            break
    assert pages == 2
    assert {e["event_id"] for e in told} == {encode_id(Prefix.EVENT, e) for e in ids}
    assert told[0]["payload"] == {"a": 1, "b": "é"}
    assert told[0]["status"] == "quarantined"
    assert told[0]["recipient_id"] == mail.agent.public_id
    assert told[0]["last_error"]["code"]
    ats = [e["quarantined_at"] for e in told]
    assert ats == sorted(ats, reverse=True)


def test_a_work_assignment_is_not_amended(mail: Mailbox) -> None:
    ids = poison(mail, 1, type="work_assignment")
    wanted = order(ids, Action.AMEND, amended_payload=b"{}")
    for verb in (jobs.count, jobs.start):
        with unchanged(mail.database), pytest.raises(ValidationFailed) as refused:
            mail.run(lambda s, v=verb: v(s, admin_of(mail.tenant), wanted))
        (fault,) = refused.value.members["errors"]
        assert fault == {
            "pointer": "/event_ids/0",
            "detail": "belongs to an assignment: redrive it or reassign the assignment",
        }

"""Amending many by one JSON Merge Patch: what fits, what is passed over and counted, and what goes first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from restante.audit.listing import list_entries
from restante.identity.roles import RightMissing, Role
from restante.inbox.failures import Failure
from restante.inbox.lifecycle import Gate
from restante.inbox.quarantine import DEDUP_HORIZON
from restante.inbox.triage import jobs
from restante.inbox.triage.jobs import Action, State
from restante.inbox.triage.patching import NotPatched, Unfit, patched
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import tenant
from restante.storage.tables.inboxes import inbox
from tests.engine.snapshot import unchanged
from tests.engine.triage import EVERYTHING, admin_of, order, poison, read, start, work_off
from tests.factories import Mailbox, pass_time, set_rules

PATCH = b'{"currency":"EUR","price":null}'


def patch_of(chosen, patch: bytes = PATCH, **members) -> jobs.Order:
    return order(chosen, Action.PATCH, merge_patch=patch, **members)


@pytest.mark.parametrize(
    ("payload", "patch", "after"),
    [
        (b'{"price":1,"n":1000000000000000001.50}', PATCH, b'{"n":1000000000000000001.50,"currency":"EUR"}'),
        (b'{"a":{"b":1,"c":2}}', b'{"a":{"b":null}}', b'{"a":{"c":2}}'),
        (b'{"currency":"EUR"}', PATCH, Unfit.UNCHANGED),
        (b'{ "currency" : "EUR" }', PATCH, Unfit.UNCHANGED),
        (b'{"n":1}', b"{}", Unfit.UNCHANGED),
        (b"[1]", PATCH, Unfit.NO_OBJECT),
        (b'"x"', PATCH, Unfit.NO_OBJECT),
        (b"", PATCH, Unfit.NO_OBJECT),
        (b'{"s":"\\ud800"}', PATCH, Unfit.NO_OBJECT),
        (b'{"n":1}', b'{"s":"' + b"x" * 100 + b'"}', Unfit.TOO_LARGE),
    ],
)  # fmt: skip
def test_what_a_patch_makes_of_a_payload(
    payload: bytes, patch: bytes, after: bytes | Unfit
) -> None:
    if isinstance(after, bytes):
        assert patched(payload, patch, most_bytes=100) == after
        return
    with pytest.raises(NotPatched) as refused:
        patched(payload, patch, most_bytes=100)
    assert refused.value.why is after


def mixed(mail: Mailbox) -> Sequence[bytes]:
    """Two that it fits, one that it leaves as it is, one that it would make too large."""
    set_rules(mail.database, max_payload_bytes=60)
    return [
        poison(mail, 1, payload=payload)[0]
        for payload in (
            b'{"price":1}',
            b'{"currency":"EUR"}',
            b'{"note":"' + b"x" * 48 + b'"}',
            b'{"price":2}',
        )
    ]


def test_a_dry_run_says_what_it_would_make_of_the_first(mail: Mailbox) -> None:
    ids = mixed(mail)
    with unchanged(mail.database):
        told = mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), patch_of(EVERYTHING)))
    fit = told.fit
    assert (told.action, told.matched, told.total) == (Action.AMEND, 4, 4)
    assert (fit.looked_at, fit.fits, fit.unchanged, fit.too_large, fit.no_object) == (4, 2, 1, 1, 0)
    assert fit.first == ids[0]


def test_each_is_amended_by_what_it_says_itself_and_the_rest_is_counted(mail: Mailbox) -> None:
    ids = mixed(mail)
    job_id = start(mail, patch_of(EVERYTHING))
    work_off(mail)
    job = read(mail, job_id)
    assert (job.action, job.state) == (Action.AMEND, State.COMPLETED)
    assert (job.done, job.skipped, job.unpatched) == (2, 2, 2)
    assert [mail.gate(e) for e in ids] == [
        Gate.CANCELLED,
        Gate.QUARANTINED,
        Gate.QUARANTINED,
        Gate.CANCELLED,
    ]
    told = [event.told for event in mail.take()]
    assert [one["payload"] for one in told] == [{"currency": "EUR"}] * 2
    assert [one["corrects"] for one in told] == [encode_id(Prefix.EVENT, ids[n]) for n in (0, 3)]
    page = mail.run(lambda s: list_entries(s, mail.tenant.id, limit=10))
    entry = page.entries[0]
    assert (entry.action, entry.reason) == ("event.amend", "4 events: the disk is larger now")


def test_what_left_quarantine_meanwhile_is_skipped_but_not_called_unpatched(mail: Mailbox) -> None:
    ids = poison(mail, 2)
    job_id = start(mail, patch_of(EVERYTHING, stagger_seconds=60))
    work_off(mail)
    start(mail, order([ids[1]], Action.DISCARD))
    pass_time(mail.database, 61)
    work_off(mail)
    assert (read(mail, job_id).skipped, read(mail, job_id).unpatched) == (1, 0)


def test_stopped_nothing_more_is_amended_and_the_patch_is_not_kept(mail: Mailbox) -> None:
    ids = poison(mail, 2)
    job_id = start(mail, patch_of(EVERYTHING, stagger_seconds=60))
    work_off(mail)
    mail.run(lambda s: jobs.cancel(s, admin_of(mail.tenant), job_id))
    pass_time(mail.database, 61)
    assert (work_off(mail), mail.gate(ids[1])) == (0, Gate.QUARANTINED)
    row = mail.run(lambda s: jobs._find(s, mail.tenant.id, job_id))
    assert (row.merge_patch, row.action) == (None, "patch")


@pytest.mark.parametrize("ends", ["completes", "fails"])
def test_the_corrected_one_goes_first_and_decides_on_the_rest(mail: Mailbox, ends: str) -> None:
    ids = poison(mail, 3)
    job_id = start(mail, patch_of(EVERYTHING, canary=True))
    work_off(mail)
    assert [mail.gate(e) for e in ids] == [Gate.CANCELLED] + [Gate.QUARANTINED] * 2
    event = mail.take_one()
    assert read(mail, job_id).canary_id == event.id
    completes = ends == "completes"
    if completes:
        mail.ack(event)
    else:
        mail.release(event, delay=0, error=Failure("boom", "still"))
    pass_time(mail.database, 2)
    work_off(mail)
    left = Gate.CANCELLED if completes else Gate.QUARANTINED
    assert [mail.gate(e) for e in ids[1:]] == [left] * 2
    assert read(mail, job_id).stopped_because == (None if completes else "canary_failed")


@pytest.mark.parametrize("by_ids", [False, True])
def test_what_belongs_to_an_assignment_is_left_out_and_counted(
    mail: Mailbox, *, by_ids: bool
) -> None:
    (plain,), (work,) = poison(mail, 1), poison(mail, 1, type="work_assignment")
    wanted = patch_of([plain, work] if by_ids else EVERYTHING)
    told = mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), wanted))
    assert (told.matched, told.assigned, told.total, told.fit.looked_at) == (2, 1, 1, 1)
    job_id = start(mail, wanted)
    work_off(mail)
    job = read(mail, job_id)
    assert (job.total, job.done, job.skipped) == (1, 1, 0)
    assert (mail.gate(plain), mail.gate(work)) == (Gate.CANCELLED, Gate.QUARANTINED)
    assert mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), order(EVERYTHING))).total == 1


def test_what_would_go_is_told_without_what_the_patch_leaves_out(mail: Mailbox) -> None:
    poison(mail, 1, payload=b'{"currency":"EUR"}')
    (goes,) = poison(mail, 1)
    told = mail.run(lambda s: jobs.count(s, admin_of(mail.tenant), patch_of(EVERYTHING)))
    assert told.inboxes == ((mail.agent.public_id, 1),)
    assert told.first_event_id == encode_id(Prefix.EVENT, goes)


@pytest.mark.parametrize("action", [Action.AMEND, Action.PATCH])
def test_amending_late_needs_force(mail: Mailbox, action: Action) -> None:
    first = mail.publish(ordering_key="k").event_id
    mail.publish(ordering_key="k")
    mail.reject(mail.take_one())
    mail.ack(mail.take_one())
    content = {"amended_payload": PATCH} if action is Action.AMEND else {"merge_patch": PATCH}
    for force in (False, True):
        wanted = order([first], action, force=force, **content)
        told = mail.run(lambda s, w=wanted: jobs.count(s, admin_of(mail.tenant), w))
        assert (told.matched, told.later_settled, told.total) == (1, 1, int(force))
        job_id = start(mail, wanted)
        work_off(mail)
        assert (read(mail, job_id).total, read(mail, job_id).done) == (force, force)
        assert mail.gate(first) is (Gate.CANCELLED if force else Gate.QUARANTINED)


def test_what_has_become_late_since_is_passed_over(mail: Mailbox) -> None:
    first = mail.publish(ordering_key="k").event_id
    mail.publish(ordering_key="k")
    mail.reject(mail.take_one())
    job_id = start(mail, patch_of(EVERYTHING))
    mail.ack(mail.take_one())
    work_off(mail)
    assert (read(mail, job_id).done, read(mail, job_id).skipped) == (0, 1)
    assert mail.gate(first) is Gate.QUARANTINED


def test_what_was_corrected_first_makes_no_other_of_its_key_late(mail: Mailbox) -> None:
    ids = poison(mail, 2, ordering_key="k")
    start(mail, patch_of(EVERYTHING, canary=True))
    work_off(mail)
    mail.ack(mail.take_one())
    pass_time(mail.database, 2)
    work_off(mail)
    assert [mail.gate(e) for e in ids] == [Gate.CANCELLED] * 2


def test_what_its_agent_may_have_forgotten_is_amended_by_force(mail: Mailbox) -> None:
    poison(mail, 1)
    moved = inbox.update().where(inbox.c.recipient_id == mail.id).values(head=DEDUP_HORIZON + 2)
    mail.run(lambda s: s.connection().execute(moved))
    for force in (False, True):
        wanted = patch_of(EVERYTHING, force=force)
        told = mail.run(lambda s, w=wanted: jobs.count(s, admin_of(mail.tenant), w))
        assert (told.beyond_dedup_horizon, told.total) == (1, int(force))


def test_whoever_does_not_see_a_value_does_not_write_it(mail: Mailbox) -> None:
    ids = poison(mail, 1)
    ruled = tenant.update().where(tenant.c.tenant_id == mail.tenant.id)
    ruled = ruled.values(redacted_paths='["/customer/iban"]')
    mail.run(lambda s: s.connection().execute(ruled))
    operator = replace(admin_of(mail.tenant), role=Role.OPERATOR)
    guess = patch_of(EVERYTHING, b'{"customer":{"iban":"DE02"}}')
    whole = order(ids, Action.AMEND, amended_payload=b"{}")
    for wanted in (guess, whole):
        for verb in (jobs.count, jobs.start):
            with unchanged(mail.database), pytest.raises(RightMissing) as refused:
                mail.run(lambda s, v=verb, w=wanted: v(s, operator, w))
            assert "/customer/iban" in refused.value.detail
            assert "takes the role tenant admin" in refused.value.detail
        mail.run(lambda s, w=wanted: jobs.count(s, admin_of(mail.tenant), w))
    beside = patch_of(EVERYTHING, b'{"customer":{"name":"x"}}')
    assert mail.run(lambda s: jobs.count(s, operator, beside)).fit.fits == 1

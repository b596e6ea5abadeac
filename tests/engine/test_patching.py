"""Amending many by one JSON Merge Patch: what fits, what is passed over and counted, and what goes first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from restante.audit.listing import list_entries
from restante.inbox.failures import Failure
from restante.inbox.lifecycle import Gate
from restante.inbox.triage import jobs
from restante.inbox.triage.jobs import Action, State
from restante.inbox.triage.patching import NotPatched, Unfit, patched
from restante.storage.ids import Prefix, encode_id
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

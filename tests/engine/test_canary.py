"""One first, then the rest if it completes: what a redrive in two steps waits for, and what ends it."""

from __future__ import annotations

import pytest

from restante.inbox import cancel
from restante.inbox.failures import Failure
from restante.inbox.lifecycle import Gate
from restante.inbox.triage import jobs
from restante.inbox.triage.canary import WAITED
from restante.inbox.triage.jobs import Action, State
from tests.engine.triage import EVERYTHING, admin_of, order, poison, read, start, work_off
from tests.factories import Mailbox, pass_time


def begun(mail: Mailbox, count: int = 3) -> tuple[bytes, list[bytes]]:
    """A job whose first event has gone, and the events."""
    ids = poison(mail, count)
    job_id = start(mail, order(EVERYTHING, canary=True))
    assert work_off(mail) == 1
    assert [mail.gate(e) for e in ids] == [Gate.CLAIMABLE] + [Gate.QUARANTINED] * (count - 1)
    assert (read(mail, job_id).canary_id, read(mail, job_id).state) == (ids[0], State.RUNNING)
    return job_id, ids


def look_again(mail: Mailbox) -> None:
    """The worker does, once it is time to."""
    pass_time(mail.database, 2)
    work_off(mail)


def test_the_rest_goes_once_the_first_is_completed(mail: Mailbox) -> None:
    job_id, ids = begun(mail)
    event = mail.take_one()
    look_again(mail)
    assert mail.gate(ids[1]) is Gate.QUARANTINED
    mail.ack(event)
    look_again(mail)
    job = read(mail, job_id)
    assert [mail.gate(e) for e in ids[1:]] == [Gate.CLAIMABLE] * 2
    assert (job.state, job.done, job.stopped_because) == (State.COMPLETED, 3, None)


def test_the_rest_is_spread_out_from_when_it_begins(mail: Mailbox) -> None:
    ids = poison(mail, 3)
    start(mail, order(EVERYTHING, canary=True, stagger_seconds=60))
    work_off(mail)
    pass_time(mail.database, 300)
    mail.ack(mail.take_one())
    look_again(mail)
    assert mail.gate(ids[1]) is Gate.QUARANTINED
    pass_time(mail.database, 60)
    work_off(mail)
    assert [mail.gate(e) for e in ids[1:]] == [Gate.CLAIMABLE, Gate.QUARANTINED]


@pytest.mark.parametrize("ends", ["fails", "is quarantined", "is cancelled", "waits"])
def test_the_rest_stays_where_the_first_is_not_completed(mail: Mailbox, ends: str) -> None:
    job_id, ids = begun(mail)
    pass_time(mail.database, 1)
    if ends == "waits":
        pass_time(mail.database, WAITED.total_seconds())
    elif ends == "is cancelled":
        mail.run(lambda s: cancel.withdraw(s, ids[0], by="opr_1", reason="no more"))
    else:
        event = mail.take_one()
        if ends == "fails":
            mail.release(event, delay=600, error=Failure("timeout", "another cause"))
        else:
            mail.reject(event, "bad 2")
    look_again(mail)
    job = read(mail, job_id)
    expected = "canary_late" if ends == "waits" else "canary_failed"
    assert (job.state, job.done, job.stopped_because) == (State.CANCELLED, 1, expected)
    assert job.canary_until is None
    pass_time(mail.database, 3600)
    assert work_off(mail) == 0
    assert [mail.gate(e) for e in ids[1:]] == [Gate.QUARANTINED] * 2


def test_the_first_that_can_go_is_the_one(mail: Mailbox) -> None:
    ids = poison(mail, 3)
    job_id = start(mail, order(EVERYTHING, canary=True))
    mail.discard(ids[0])
    work_off(mail)
    job = read(mail, job_id)
    assert (job.canary_id, job.done, job.skipped) == (ids[1], 1, 1)
    assert mail.gate(ids[2]) is Gate.QUARANTINED


def test_a_job_is_stopped_while_it_waits(mail: Mailbox) -> None:
    job_id, ids = begun(mail)
    ended = mail.run(lambda s: jobs.cancel(s, admin_of(mail.tenant), job_id))
    assert (ended.state, ended.canary_until) == (State.CANCELLED, None)
    mail.ack(mail.take_one())
    look_again(mail)
    assert mail.gate(ids[1]) is Gate.QUARANTINED


def test_only_a_redrive_has_a_first(mail: Mailbox) -> None:
    ids = poison(mail, 2)
    start(mail, order(EVERYTHING, Action.DISCARD, canary=True))
    work_off(mail)
    assert [mail.gate(e) for e in ids] == [Gate.CANCELLED] * 2

"""What running jobs have still to do of the events that somebody looks at."""

from __future__ import annotations

import pytest

from restante.errors import InsufficientScope
from restante.inbox.triage import under_way as module
from restante.inbox.triage.jobs import Action
from restante.inbox.triage.selection import Filter
from restante.inbox.triage.under_way import UnderWay, under_way
from tests.engine.triage import EVERYTHING, admin_of, order, poison, start, work_off
from tests.factories import Mailbox, make_tenant, pass_time


def told(mail: Mailbox, chosen=None, **members) -> list[UnderWay]:
    return mail.run(lambda s: under_way(s, admin_of(mail.tenant), chosen, **members))


def test_a_running_job_tells_what_it_has_left_of_what_is_meant(mail: Mailbox) -> None:
    first, *_ = poison(mail, 3, message="bad")
    (other,) = poison(mail, 1, message="worse")
    job_id = start(mail, order(EVERYTHING, stagger_seconds=60))
    work_off(mail)
    (one,) = told(mail)
    assert one.job.job_id == job_id
    assert [(left.code, left.message, left.many) for left in one.left] == [
        ("boom", "bad", 2),
        ("boom", "worse", 1),
    ]
    assert (one.many, one.cut, one.of(one.left[1].failure_signature)) == (3, False, 1)
    (of_one,) = told(mail, Filter(failure_signature=one.left[1].failure_signature))
    assert [left.message for left in of_one.left] == ["worse"]
    assert [left.many for left in told(mail, [other, None])[0].left] == [1]
    assert told(mail, [first])[0].many == 0
    assert told(mail, job_id=job_id)[0].many == 3


def test_what_has_left_or_come_back_since_is_not_its_business(mail: Mailbox) -> None:
    first, second, _ = poison(mail, 3)
    start(mail, order(EVERYTHING, Action.DISCARD, stagger_seconds=60))
    mail.discard(first)
    mail.redrive(second)
    mail.fail(mail.take_one())
    assert told(mail)[0].many == 1


def test_no_more_than_the_next_ones_are_looked_at_and_it_says_so(
    mail: Mailbox, monkeypatch
) -> None:
    monkeypatch.setattr(module, "LOOKED_AT", 2)
    poison(mail, 3)
    start(mail, order(EVERYTHING))
    (one,) = told(mail)
    assert (one.many, one.cut) == (2, True)


def test_jobs_that_are_over_and_those_of_others_are_not_told(mail: Mailbox) -> None:
    poison(mail, 1)
    job_id = start(mail, order(EVERYTHING))
    other = make_tenant(mail.database)
    asked = mail.run(lambda s: under_way(s, admin_of(other)))
    assert (asked, mail.run(lambda s: under_way(s, admin_of(other), job_id=job_id))) == ([], [])
    work_off(mail)
    pass_time(mail.database, 1)
    work_off(mail)
    assert told(mail) == []
    with pytest.raises(InsufficientScope):
        mail.run(lambda s: under_way(s, admin_of(mail.tenant, frozenset())))

"""An assignment's timer against its event's holder, and two ends at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.audit.entries import SERVER
from restante.coordination import assignments
from restante.coordination.assignments import State, Work
from restante.coordination.reassigning import reassign
from restante.coordination.rerouting import on_end, run_timer
from restante.coordination.routing import Policy
from restante.errors import RestanteError, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.roles import Role
from restante.inbox.claim import ClaimRequest, claim
from restante.inbox.ends import ON_END
from restante.inbox.lifecycle import Gate
from restante.inbox.orders import Ack, Reject
from restante.inbox.settle import settle_one
from restante.storage.tables.assignments import assignment
from tests.factories import Mailbox, Tenant, pass_time
from tests.races.players import Player, at_once

pytestmark = pytest.mark.servers_only


@pytest.fixture(autouse=True)
def _listening(tenant: Tenant) -> None:
    tenant.database.info[ON_END] = on_end


def work_for(*candidates: Mailbox, **told: Any) -> Work:
    return Work(
        project="p", payload=b"{}", candidates=tuple(mail.id for mail in candidates), **told
    )


def assign(tenant: Tenant, *candidates: Mailbox) -> bytes:
    work = work_for(*candidates, policy=Policy.IN_ORDER, unread_timeout_seconds=60)
    return tenant.database.run(lambda s: assignments.assign(s, tenant.service, work))


def row(tenant: Tenant, assignment_id: bytes):
    query = select(assignment).where(assignment.c.assignment_id == assignment_id)
    return tenant.database.run(lambda s: s.connection().execute(query).one())


def claiming(mail: Mailbox) -> Callable[[Session], object]:
    request = ClaimRequest(projects=tuple(mail.tenant.projects.values()), limit=1, consumer="c")
    return lambda s: claim(s, mail.agent, request).events


def timing(assignment_id: bytes) -> Callable[[Session], object]:
    return lambda s: run_timer(s, assignment_id)


def test_who_claims_first_keeps_it(tenant: Tenant) -> None:
    one, two = tenant.agent("p"), tenant.agent("p")
    made = assign(tenant, one, two)
    pass_time(tenant.database, 61)
    holder = Player(tenant.database, claiming(one), holding=True)
    timer = Player(tenant.database, timing(made))
    timer.wait_until_blocked()
    assert len(holder.commit()) == 1
    timer.answer()
    assert (row(tenant, made).agent_id, row(tenant, made).due_at) == (one.id, None)
    assert two.take() == []


def test_who_comes_after_the_timer_finds_nothing(tenant: Tenant) -> None:
    one, two = tenant.agent("p"), tenant.agent("p")
    made = assign(tenant, one, two)
    pass_time(tenant.database, 61)
    timer = Player(tenant.database, timing(made), holding=True)
    assert one.take() == []
    timer.commit()
    assert one.take() == []
    assert row(tenant, made).agent_id == two.id
    assert len(two.take()) == 1


def test_two_timers_route_it_on_once(tenant: Tenant) -> None:
    mails = [tenant.agent("p") for _ in range(3)]
    made = assign(tenant, *mails)
    pass_time(tenant.database, 61)
    outcomes = at_once(tenant.database, [timing(made) for _ in range(3)])
    assert sorted(map(bool, outcomes)) == [False, False, True]
    assert row(tenant, made).agent_id == mails[1].id
    assert mails[2].take() == []


def test_a_cancel_and_an_ack_at_once_leave_one_end(tenant: Tenant) -> None:
    for _ in range(5):
        one = tenant.agent("p")
        made = assign(tenant, one)
        event = one.take_one()
        ack = Ack(event.id, event.generation, b'{"n":1}')
        outcomes = at_once(
            tenant.database,
            [
                lambda s, ack=ack, one=one: settle_one(s, one.agent, ack),
                lambda s, made=made: assignments.cancel(s, tenant.service, made, "no longer"),
            ],
        )
        assert not isinstance(outcomes[0], RestanteError)
        assert (row(tenant, made).state, row(tenant, made).result) == (State.COMPLETED, b'{"n":1}')
        assert one.gate(event.id) is Gate.COMPLETED


def reassigning(tenant: Tenant, assignment_id: bytes) -> Callable[[Session], object]:
    who = Administrator(tenant.id, SERVER, role=Role.TENANT_ADMIN)
    return lambda s: reassign(s, who, assignment_id, reason="moves")


def test_reassigned_and_claimed_at_once_it_is_done_by_one(tenant: Tenant) -> None:
    one, two = tenant.agent("p"), tenant.agent("p")
    made = assign(tenant, one, two)
    holder = Player(tenant.database, claiming(one), holding=True)
    mover = Player(tenant.database, reassigning(tenant, made))
    mover.wait_until_blocked()
    assert len(holder.commit()) == 1
    with pytest.raises(ValidationFailed):  # it takes force now
        mover.answer()
    assert (row(tenant, made).agent_id, two.take()) == (one.id, [])
    made = assign(tenant, one, two)
    mover = Player(tenant.database, reassigning(tenant, made), holding=True)
    assert one.take() == []
    mover.commit()
    assert (row(tenant, made).agent_id, one.take(), len(two.take())) == (two.id, [], 1)


def test_two_who_reassign_at_once_move_it_one_after_the_other(tenant: Tenant) -> None:
    mails = [tenant.agent("p") for _ in range(3)]
    made = assign(tenant, *mails)
    outcomes = at_once(tenant.database, [reassigning(tenant, made)] * 2)
    assert not [o for o in outcomes if isinstance(o, Exception)]
    assert row(tenant, made).agent_id == mails[2].id
    assert [len(mail.take()) for mail in mails] == [0, 0, 1]


def test_opposite_failures_do_not_lock_each_other_out(tenant: Tenant) -> None:
    """Each rejects while holding an event row, and gives its work to the other's inbox."""
    one, two = tenant.agent("p"), tenant.agent("p")
    for _ in range(5):
        made = [assign(tenant, one, two), assign(tenant, two, one)]
        events = [one.take_one(), two.take_one()]
        works = [
            lambda s, m=mail, e=event: settle_one(s, m.agent, Reject(e.id, e.generation, "no"))
            for mail, event in zip((one, two), events, strict=True)
        ]
        outcomes = at_once(tenant.database, works)
        assert not [o for o in outcomes if isinstance(o, Exception)]
        assert [row(tenant, m).agent_id for m in made] == [two.id, one.id]
        for mail in (one, two):
            mail.ack(mail.take_one())
        assert [row(tenant, m).state for m in made] == [State.COMPLETED] * 2


def test_of_a_burst_each_goes_to_who_has_least_by_then(tenant: Tenant) -> None:
    mails = [tenant.agent("p") for _ in range(3)]
    mails[0].publish_many([mails[0].publication()] * 2)
    work = work_for(*mails, policy=Policy.LEAST_LOADED)
    burst = [lambda s: assignments.assign(s, tenant.service, work)] * 7
    outcomes = at_once(tenant.database, burst)
    assert not [o for o in outcomes if isinstance(o, Exception)]
    assert [mail.inbox_row().head for mail in mails] == [3, 3, 3]

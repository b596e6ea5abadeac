"""Two copies of the maintenance tell of one unread event once, and meet no claim."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.inbox.escalation import Escalated, escalate
from restante.inbox.escalation_policy import Policy
from restante.storage.tables.unread import unread_escalation
from tests.factories import Mailbox, Tenant, pass_time
from tests.races.players import Player, at_once
from tests.races.verbs import claiming, ids

pytestmark = pytest.mark.servers_only


@pytest.mark.parametrize("to", ["agent", "operators"])
def test_two_at_once_tell_once(tenant: Tenant, to: str) -> None:
    boss = tenant.agent()
    boxes = [tenant.agent() for _ in range(3)]
    project = tenant.projects["p"]
    told = boss.id if to == "agent" else None
    policy = Policy(tenant.id, project.id, "p", timedelta(seconds=60), told)
    for mail in boxes:
        mail.publish_many([mail.publication() for _ in range(5)])
    pass_time(tenant.database, 61)

    def work(mail: Mailbox) -> Callable[[Session], Escalated]:
        def tell(session: Session) -> Escalated:
            return escalate(session, policy, mail.id)

        return tell

    outcomes = at_once(tenant.database, [work(mail) for mail in (*boxes, *boxes)])
    assert sum(outcome.events for outcome in outcomes) == 15
    counted = select(func.count()).select_from(unread_escalation)
    assert tenant.database.run(lambda s: s.connection().execute(counted).scalar()) == 15
    assert boss.inbox_row().head == (15 if to == "agent" else 0)


def test_it_waits_for_no_claim_and_no_claim_for_it(tenant: Tenant, mail: Mailbox) -> None:
    policy = Policy(tenant.id, tenant.projects["p"].id, "p", timedelta(seconds=60), None)
    events = [mail.publish().event_id for _ in range(2)]
    pass_time(tenant.database, 61)
    claimer = Player(mail.database, claiming(mail, limit=1), holding=True)
    teller = Player(mail.database, lambda s: escalate(s, policy, mail.id), holding=True)
    second = Player(mail.database, claiming(mail, limit=1))
    assert ids(second.answer()) == [events[1]]
    assert teller.commit().events == 2
    assert ids(claimer.commit()) == [events[0]]

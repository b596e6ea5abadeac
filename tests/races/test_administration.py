"""Administrators at once, and against the agents they administer."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from restante.audit.entries import IN_PROCESS
from restante.errors import NotFound, TooManyKeys
from restante.identity.administrators import Administrator
from restante.identity.agent_settings import pause_agent
from restante.identity.grant_replacement import replace_grants
from restante.identity.grants import grants_of
from restante.identity.machine_credentials import add_secret
from restante.identity.machine_list import MachineStatus, find_machine
from restante.identity.machine_status import set_status
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Role
from restante.inbox.lifecycle import Gate
from restante.storage.tables.identity import granted_scope
from tests.factories import Mailbox, Tenant
from tests.races.players import Player, at_once
from tests.races.verbs import Work, claiming, ids

pytestmark = pytest.mark.servers_only
AGENT = PrincipalKind.AGENT
SIDES = (["agent:p:read", "agent:p:claim"], ["agent:q:publish", "agent:q:read"])


@pytest.fixture
def who(tenant: Tenant) -> Administrator:
    return Administrator(tenant.id, IN_PROCESS, role=Role.TENANT_ADMIN, anew=True)


def replacing(who: Administrator, mail: Mailbox, grants: list[str]) -> Work:
    return lambda session: replace_grants(session, who, mail.agent.public_id, grants)


def setting(who: Administrator, mail: Mailbox, status: MachineStatus) -> Work:
    return lambda session: set_status(session, who, AGENT, mail.agent.public_id, status)


def granted(mail: Mailbox) -> list[str]:
    asked = select(granted_scope.c.scope).where(granted_scope.c.principal_id == mail.id)
    return sorted(mail.run(lambda s: s.connection().execute(asked).scalars().all()))


def status(mail: Mailbox) -> MachineStatus:
    found = mail.run(lambda s: find_machine(s, mail.tenant.id, AGENT, mail.agent.public_id))
    return found.status


@pytest.mark.parametrize("first", [0, 1])
def test_two_who_replace_grants(mail: Mailbox, who: Administrator, first: int) -> None:
    """The second waits for the first, and what he says is what holds: all of it and nothing else."""
    one = Player(mail.database, replacing(who, mail, SIDES[first]), holding=True)
    other = Player(mail.database, replacing(who, mail, SIDES[1 - first]))
    other.wait_until_blocked()
    assert one.commit() == sorted(SIDES[first])
    assert other.answer() == sorted(SIDES[1 - first])
    assert granted(mail) == sorted(SIDES[1 - first])


def test_many_who_replace_grants(mail: Mailbox, who: Administrator) -> None:
    works: list[Any] = [replacing(who, mail, SIDES[n % 2]) for n in range(6)]
    assert at_once(mail.database, works) == [sorted(SIDES[n % 2]) for n in range(6)]
    assert granted(mail) in [sorted(side) for side in SIDES]


def test_a_removal_and_grants(mail: Mailbox, who: Administrator) -> None:
    """Whichever is first, a removed agent has none."""
    remover = Player(mail.database, setting(who, mail, MachineStatus.REMOVED), holding=True)
    granter = Player(mail.database, replacing(who, mail, SIDES[0]))
    granter.wait_until_blocked()
    remover.commit()
    with pytest.raises(NotFound):
        granter.answer()
    assert granted(mail) == []


def test_grants_and_a_removal(mail: Mailbox, who: Administrator) -> None:
    granter = Player(mail.database, replacing(who, mail, SIDES[0]), holding=True)
    remover = Player(mail.database, setting(who, mail, MachineStatus.REMOVED))
    remover.wait_until_blocked()
    granter.commit()
    remover.answer()
    assert (granted(mail), status(mail)) == ([], MachineStatus.REMOVED)


@pytest.mark.parametrize("first", ["claim", "disable"])
def test_disabling_and_a_claim(mail: Mailbox, who: Administrator, first: str) -> None:
    """Neither waits for the other: what is claimed comes back when its lease ends."""
    event_id = mail.publish().event_id
    works: dict[str, Work] = {
        "claim": claiming(mail),
        "disable": setting(who, mail, MachineStatus.DISABLED),
    }
    holder = Player(mail.database, works.pop(first), holding=True)
    (second,) = works.values()
    answers = [Player(mail.database, second).answer(), holder.commit()]
    claimed = answers[first == "claim"]
    assert ids(claimed) == [event_id]
    assert (mail.gate(event_id), status(mail)) == (Gate.CLAIMED, MachineStatus.DISABLED)


def test_a_pause_that_is_committed_gives_nothing_more(mail: Mailbox, who: Administrator) -> None:
    mail.publish()
    pausing = Player(
        mail.database, lambda s: pause_agent(s, who, mail.agent.public_id), holding=True
    )
    assert len(mail.take(limit=1)) == 1
    mail.publish()
    pausing.commit()
    assert (mail.claim().reason, len(mail.claim().events)) == ("paused", 0)


def test_a_credential_is_not_made_while_grants_are_given(
    mail: Mailbox, tenant: Tenant, who: Administrator
) -> None:
    """Who may make one of an agent without grants sees those that are being given."""
    mail.run(replacing(who, mail, []))
    granter = Player(mail.database, replacing(who, mail, SIDES[0]), holding=True)
    seen: list[int] = []

    def making(session: Any) -> None:
        add_secret(session, who, AGENT, mail.agent.public_id)
        seen.append(len(grants_of(session, mail.id)))

    maker = Player(mail.database, making)
    maker.wait_until_blocked()
    granter.commit()
    maker.answer()
    assert seen == [2]


def test_no_third_secret_is_made_at_once(mail: Mailbox, who: Administrator) -> None:
    works: list[Any] = [lambda s: add_secret(s, who, AGENT, mail.agent.public_id)] * 4
    outcomes = at_once(mail.database, works)
    assert sum(isinstance(outcome, TooManyKeys) for outcome in outcomes) == 2

"""What operators are shown of devices and decide on them, as verbs on each database."""

from __future__ import annotations

from datetime import timedelta

import pytest

from restante.audit.entries import IN_PROCESS, Actor, ActorKind, Origin
from restante.audit.listing import list_entries
from restante.errors import NotFound, RateLimited
from restante.identity.agents import create_agent
from restante.identity.device_logins import ANY_AGENT, LoggedIn, Started, poll, start
from restante.identity.device_review import choices, review
from restante.identity.devices import USER_CODES, Decision, approve, deny, look_up
from restante.identity.operators import Operator, invite
from restante.identity.projects import create_project
from restante.identity.roles import Role
from restante.identity.sessions import resume_session, revoke_others
from restante.identity.sign_in import sign_in_by_link
from restante.identity.sign_in_links import Purpose, make_link
from restante.identity.user_codes import UserCodes
from restante.storage.ids import Prefix, encode_id, new_id
from tests.factories import Tenant, make_tenant
from tests.races.players import Player
from tests.support.databases import TestDatabase

GRANTS = ("agent:p1:read", "agent:p1:claim", "agent:p1:memory")
FROM = Origin(Actor(ActorKind.OPERATOR, "opr_x"), "192.0.2.7", "request-1")


@pytest.fixture
def tenant(database: TestDatabase) -> Tenant:
    database.info[USER_CODES] = UserCodes(["k" * 40])
    made = make_tenant(database)
    database.run(lambda s: create_project(s, made.id, "p1"))
    return made


@pytest.fixture
def who(database: TestDatabase, tenant: Tenant) -> Operator:
    return database.run(lambda s: invite(s, tenant.id, email="ops@example.com", role=Role.OPERATOR))


def agent(database: TestDatabase, tenant: Tenant, name: str) -> bytes:
    return database.run(lambda s: create_agent(s, tenant.id, name=name, grants=GRANTS)).id


def waiting(database: TestDatabase, agent_id: bytes | None = None) -> Started:
    client = ANY_AGENT if agent_id is None else encode_id(Prefix.AGENT, agent_id)
    found = database.run(lambda s: start(s, client, asked=None, host="shed"))
    assert found is not None
    return found


def test_a_decision_stays_and_is_told_again_to_who_made_it(
    database: TestDatabase, tenant: Tenant, who: Operator
) -> None:
    dock = agent(database, tenant, "dock")
    code = waiting(database, dock).user_code
    colleague = database.run(
        lambda s: invite(s, tenant.id, email="b@example.com", role=Role.OPERATOR)
    )
    for verb in (approve, approve, deny):
        found = database.run(lambda s, v=verb: v(s, who, user_code=code, by=FROM))
        assert found is not None
        assert (found.decided, found.agent_name) == (Decision.APPROVED, "dock")
        assert found.granted_scopes == "agent:p1:claim agent:p1:read"
    assert database.run(lambda s: deny(s, colleague, user_code=code, by=FROM)) is None
    entries = database.run(lambda s: list_entries(s, tenant.id, limit=50)).entries
    told = [(e.action, e.outcome) for e in entries if e.action.startswith("device")]
    assert told == [("device.refuse", "refused"), ("device.approve", "done")]


@pytest.mark.servers_only
def test_of_two_decisions_at_once_one_is_made(
    database: TestDatabase, tenant: Tenant, who: Operator
) -> None:
    code = waiting(database, agent(database, tenant, "dock")).user_code
    first = Player(database, lambda s: deny(s, who, user_code=code), holding=True)
    second = Player(database, lambda s: approve(s, who, user_code=code))
    second.wait_until_blocked()
    denied, late = first.commit(), second.answer()
    assert denied is not None
    assert late is not None
    assert (denied.decided, late.decided) == (Decision.DENIED, Decision.DENIED)


def test_a_review_says_what_it_gets_and_what_it_is_granted_besides(
    database: TestDatabase, tenant: Tenant, who: Operator
) -> None:
    dock = agent(database, tenant, "dock")
    for logins in (0, 1):
        started = waiting(database, dock)
        found = database.run(lambda s, c=started.user_code: look_up(s, c, operator=who))
        assert found is not None
        seen = database.run(lambda s, f=found: review(s, tenant.id, f, principal_id=dock))
        assert (seen.agent_name, seen.why_not, seen.logins) == ("dock", None, logins)
        assert (seen.last_login_seen_at is None) == (logins == 0)
        assert sorted(map(str, seen.gets)) == ["agent:p1:claim", "agent:p1:read"]
        assert list(map(str, seen.left_out)) == ["agent:p1:memory"]
        database.run(lambda s, c=started.user_code: approve(s, who, user_code=c))
        logged_in = database.run(
            lambda s, d=started.device_code: poll(
                s, d, client=encode_id(Prefix.AGENT, dock), by=IN_PROCESS
            )
        )
        assert isinstance(logged_in, LoggedIn)
    other = make_tenant(database, "other")
    for tenant_id, agent_id in ((other.id, dock), (tenant.id, new_id())):
        with pytest.raises(NotFound):
            database.run(lambda s, t=tenant_id, a=agent_id: review(s, t, found, principal_id=a))


def test_agents_to_pick_are_the_tenants_own_by_name(database: TestDatabase, tenant: Tenant) -> None:
    other = make_tenant(database, "other")
    database.run(lambda s: create_agent(s, other.id, name="dock of others"))
    for name in ("Dock-B", "dock-a", "50%_off", "zed"):
        agent(database, tenant, name)

    def named(text: str, after: str = "", limit: int = 12) -> tuple[list[str], bool]:
        found = database.run(lambda s: choices(s, tenant.id, named=text, after=after, limit=limit))
        return [one.name for one in found.agents], found.more

    assert named("") == (["50%_off", "Dock-B", "dock-a", "zed"], False)
    assert named("", limit=2) == (["50%_off", "Dock-B"], True)
    assert named("", after="Dock-B", limit=2) == (["dock-a", "zed"], False)
    assert named("DOCK") == (["Dock-B", "dock-a"], False)
    assert named("%") == named("_") == (["50%_off"], False)
    assert named("\\") == named("nobody") == ([], False)


def test_wrong_codes_are_counted_from_the_address_too(
    database: TestDatabase, tenant: Tenant, who: Operator
) -> None:
    colleague = database.run(
        lambda s: invite(s, tenant.id, email="b@example.com", role=Role.OPERATOR)
    )
    for _ in range(10):
        assert database.run(lambda s: look_up(s, "BCDFG", operator=who, by=FROM)) is None
    with pytest.raises(RateLimited):
        database.run(lambda s: look_up(s, "BCDFG", operator=colleague, by=FROM))
    assert database.run(lambda s: look_up(s, "BCDFG", operator=colleague)) is None
    database.clock_offset += timedelta(seconds=61)
    assert database.run(lambda s: look_up(s, "BCDFG", operator=who, by=FROM)) is None


def test_all_other_sessions_end_at_once(
    database: TestDatabase, tenant: Tenant, who: Operator
) -> None:
    colleague = database.run(
        lambda s: invite(s, tenant.id, email="b@example.com", role=Role.OPERATOR)
    )

    def begin(one: Operator) -> str:
        secret = database.run(lambda s: make_link(s, one, Purpose.SIGN_IN))
        token = database.run(lambda s: sign_in_by_link(s, secret, by=FROM))
        assert isinstance(token, str)
        return token

    mine, lost, stolen, other = begin(who), begin(who), begin(who), begin(colleague)
    here = database.run(lambda s: resume_session(s, mine))
    assert here is not None
    for ended in (2, 0):
        assert database.run(lambda s: revoke_others(s, here, by=FROM)) == ended
    alive = [database.run(lambda s, t=t: resume_session(s, t)) for t in (mine, lost, stolen, other)]
    assert [found is not None for found in alive] == [True, False, False, True]
    entries = database.run(lambda s: list_entries(s, tenant.id, limit=50)).entries
    assert [e.reason for e in entries if e.action == "session.revoke"] == [who.email] * 2

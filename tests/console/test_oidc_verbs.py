"""Journeys, people and arrivals as verbs, on each database."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.identity.oidc.arrivals import Entered, TurnedAway, sign_in_person
from restante.identity.oidc.configuration import Groups, Place
from restante.identity.oidc.groups import grouped_operators
from restante.identity.oidc.journeys import Journey, Lost, Ticket, begin_journey, end_journey
from restante.identity.oidc.people import Person, Stranger, invited_operators
from restante.identity.operators import Operator, invite
from restante.identity.roles import Role
from restante.identity.sealing import Sealer
from restante.identity.sessions import resume_session
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.operators import oidc_transaction, operator
from tests.factories import Tenant, make_tenant
from tests.races.players import Player
from tests.support.databases import TestDatabase
from tests.support.serving import SECRET_KEY

EMAIL = "ops@example.com"
FROM = Origin(Actor(ActorKind.CLIENT), "192.0.2.7", "request-1")
BROWSER = "a-visitors-cookie"
SEALER = Sealer([SECRET_KEY], "sign-ins through a provider")
PERSON = Person("https://id.example.com", "subject-1", EMAIL, email_verified=True)


@pytest.fixture
def tenant(database: TestDatabase) -> Tenant:
    return make_tenant(database)


def leave(database: TestDatabase, session_id: bytes | None = None) -> Ticket:
    return database.run(
        lambda s: begin_journey(
            s, SEALER, browser=BROWSER, return_path="/account", session_id=session_id
        )
    )


def back(database: TestDatabase, state: str, browser: str | None = BROWSER) -> Journey | Lost:
    return database.run(lambda s: end_journey(s, SEALER, state=state, browser=browser))


def invited(database: TestDatabase, tenant: Tenant, role: Role = Role.OPERATOR) -> Operator:
    return database.run(lambda s: invite(s, tenant.id, email=EMAIL, role=role))


def test_a_journey_is_good_once_in_its_browser_for_ten_minutes(database: TestDatabase) -> None:
    ticket = leave(database)
    assert back(database, ticket.state, "another") is Lost.OTHER_BROWSER
    assert back(database, ticket.state, None) is Lost.OTHER_BROWSER
    found = back(database, ticket.state)
    assert isinstance(found, Journey)
    assert (found.verifier, found.return_path) == (ticket.verifier, "/account")
    assert back(database, ticket.state) is Lost.OVER
    assert back(database, "never given") is Lost.OVER
    late = leave(database)
    database.clock_offset += timedelta(minutes=10, seconds=1)
    assert back(database, late.state) is Lost.OVER


def test_nothing_that_is_kept_of_a_journey_lets_anybody_go_on(database: TestDatabase) -> None:
    ticket = leave(database)
    row = database.run(lambda s: s.connection().execute(select(oidc_transaction)).one())
    kept = b"".join(value for value in row if isinstance(value, bytes))
    for secret in (ticket.state, ticket.nonce, ticket.verifier, BROWSER):
        assert secret.encode() not in kept
    other = Sealer(["another-secret-key-that-is-long-enough"], "sign-ins through a provider")
    lost = database.run(lambda s: end_journey(s, other, state=ticket.state, browser=BROWSER))
    assert lost is Lost.OVER


@pytest.mark.servers_only
def test_of_two_who_come_back_with_one_state_one_is_let_on(database: TestDatabase) -> None:
    ticket = leave(database)

    def arrive(session: object) -> Journey | Lost:
        return end_journey(session, SEALER, state=ticket.state, browser=BROWSER)

    first = Player(database, arrive, holding=True)
    second = Player(database, arrive)
    second.wait_until_blocked()
    assert isinstance(first.commit(), Journey)
    assert second.answer() is Lost.OVER


def test_an_invitation_binds_once_and_to_one_person(database: TestDatabase, tenant: Tenant) -> None:
    who = invited(database, tenant)
    found = database.run(lambda s: invited_operators(s, PERSON, FROM))
    assert isinstance(found, list)
    assert [one.id for one in found] == [who.id]
    heir = Person(PERSON.issuer, "subject-2", EMAIL, email_verified=True)
    assert database.run(lambda s: invited_operators(s, heir, FROM)) is Stranger.TAKEN
    elsewhere = Person("https://other.example.com", "subject-1", EMAIL, email_verified=True)
    assert database.run(lambda s: invited_operators(s, elsewhere, FROM)) is Stranger.TAKEN
    later = Person(PERSON.issuer, PERSON.subject)
    assert isinstance(database.run(lambda s: invited_operators(s, later, FROM)), list)


def test_who_is_bound_in_a_tenant_takes_no_second_place_there(
    database: TestDatabase, tenant: Tenant
) -> None:
    """His address at the provider has changed to one that somebody else is invited by."""
    who = invited(database, tenant)
    database.run(lambda s: invited_operators(s, PERSON, FROM))
    database.run(lambda s: invite(s, tenant.id, email="new@example.com", role=Role.TENANT_ADMIN))
    moved = Person(PERSON.issuer, PERSON.subject, "new@example.com", email_verified=True)
    found = database.run(lambda s: invited_operators(s, moved, FROM))
    assert isinstance(found, list)
    assert [one.id for one in found] == [who.id]


@pytest.mark.servers_only
def test_of_two_persons_of_one_address_at_once_one_is_bound(
    database: TestDatabase, tenant: Tenant
) -> None:
    invited(database, tenant)
    heir = Person(PERSON.issuer, "subject-2", EMAIL, email_verified=True)
    first = Player(database, lambda s: invited_operators(s, PERSON, FROM), holding=True)
    second = Player(database, lambda s: invited_operators(s, heir, FROM))
    second.wait_until_blocked()
    assert isinstance(first.commit(), list)
    assert second.answer() is Stranger.TAKEN


def test_a_session_begins_as_the_operator_and_replaces_the_one_before(
    database: TestDatabase, tenant: Tenant
) -> None:
    who = invited(database, tenant)

    def enter(session: object, before: str | None) -> Entered | TurnedAway:
        return sign_in_person(
            session, PERSON, groups=None, return_path="/account", by=FROM, instead_of=before
        )

    first = database.run(lambda s: enter(s, None))
    assert isinstance(first, Entered)
    second = database.run(lambda s: enter(s, first.token))
    assert isinstance(second, Entered)
    assert database.run(lambda s: resume_session(s, first.token)) is None
    found = database.run(lambda s: resume_session(s, second.token))
    assert found is not None
    assert (found.operator.id, found.method.value, found.recent) == (who.id, "oidc", True)
    database.clock_offset += timedelta(minutes=10, seconds=1)
    found = database.run(lambda s: resume_session(s, second.token))
    assert found is not None
    assert not found.recent


def test_groups_make_change_and_shut_out(database: TestDatabase, tenant: Tenant) -> None:
    named = encode_id(Prefix.TENANT, tenant.id)
    groups = Groups(
        "groups",
        {
            "ops": (Place(named, Role.OPERATOR),),
            "owners": (Place(named, Role.TENANT_ADMIN),),
        },
    )

    def come(*names: str) -> list[Operator] | Stranger:
        person = Person(PERSON.issuer, "s", EMAIL, email_verified=True, groups=frozenset(names))
        return database.run(lambda s: grouped_operators(s, person, groups, FROM))

    made = come("ops")
    assert isinstance(made, list)
    assert [one.role for one in made] == [Role.OPERATOR]
    changed = come("ops", "owners")
    assert isinstance(changed, list)
    assert [(one.id, one.role) for one in changed] == [(made[0].id, Role.TENANT_ADMIN)]
    assert come("others") is Stranger.NO_GROUP
    count = database.run(lambda s: len(s.connection().execute(select(operator)).all()))
    assert count == 1

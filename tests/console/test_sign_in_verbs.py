"""Operators, links and sessions as verbs, on each database."""

from __future__ import annotations

import hashlib
from datetime import timedelta

import pytest
from sqlalchemy import select

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.audit.listing import list_entries
from restante.errors import NotFound, RateLimited, ValidationFailed
from restante.identity.operators import (
    AmbiguousOperator,
    Operator,
    disable_operator,
    find_operator,
    invite,
)
from restante.identity.roles import Role
from restante.identity.sessions import (
    Method,
    begin_session,
    end_session,
    list_sessions,
    resume_session,
    revoke_session,
)
from restante.identity.sign_in import sign_in_by_link
from restante.identity.sign_in_links import (
    OperatorDisabled,
    Purpose,
    Refusal,
    Refused,
    look_at_link,
    make_link,
    take_link,
)
from restante.storage.ids import new_id
from restante.storage.tables.operators import operator_session, sign_in_link
from tests.factories import Tenant, make_tenant
from tests.races.players import Player
from tests.support.databases import TestDatabase

EMAIL = "ops@example.com"
FROM = Origin(Actor(ActorKind.CLIENT), "192.0.2.7", "request-1")


@pytest.fixture
def tenant(database: TestDatabase) -> Tenant:
    return make_tenant(database)


@pytest.fixture
def who(database: TestDatabase, tenant: Tenant) -> Operator:
    return database.run(lambda s: invite(s, tenant.id, email=EMAIL, role=Role.OPERATOR))


def link(database: TestDatabase, who: Operator, purpose: Purpose = Purpose.SIGN_IN) -> str:
    return database.run(lambda s: make_link(s, who, purpose))


def signed_in(database: TestDatabase, who: Operator) -> str:
    secret = link(database, who)
    token = database.run(lambda s: sign_in_by_link(s, secret, by=FROM))
    assert isinstance(token, str)
    return token


def is_live(database: TestDatabase, token: str) -> bool:
    return database.run(lambda s: resume_session(s, token)) is not None


def later(database: TestDatabase, **lengths: float) -> None:
    database.clock_offset += timedelta(**lengths)


def test_an_email_is_one_operators_of_a_tenant(database: TestDatabase, tenant: Tenant) -> None:
    made = database.run(
        lambda s: invite(s, tenant.id, email="Ops@Example.com", role=Role.TENANT_ADMIN)
    )
    assert (made.email, made.role, made.status.value) == (EMAIL, "tenant_admin", "invited")
    for email in ("OPS@example.com", "no-email", "a@b c", "a@b\n", f"{'x' * 250}@b.de"):
        with pytest.raises(ValidationFailed):
            database.run(lambda s, e=email: invite(s, tenant.id, email=e, role=Role.OPERATOR))


def test_only_the_platforms_operators_have_no_tenant(database: TestDatabase) -> None:
    with pytest.raises(ValidationFailed):
        database.run(lambda s: invite(s, None, email=EMAIL, role=Role.TENANT_ADMIN))
    with pytest.raises(ValidationFailed):
        database.run(lambda s: invite(s, new_id(), email=EMAIL, role=Role.PLATFORM_ADMIN))
    made = database.run(lambda s: invite(s, None, email=EMAIL, role=Role.PLATFORM_ADMIN))
    assert made.tenant_id is None
    with pytest.raises(ValidationFailed):
        database.run(lambda s: invite(s, None, email=EMAIL, role=Role.PLATFORM_ADMIN))


def test_one_person_in_two_tenants_has_to_say_which(
    database: TestDatabase, tenant: Tenant, who: Operator
) -> None:
    assert database.run(lambda s: find_operator(s, EMAIL)).id == who.id
    other = make_tenant(database, "other")
    there = database.run(lambda s: invite(s, other.id, email=EMAIL, role=Role.OPERATOR))
    with pytest.raises(AmbiguousOperator):
        database.run(lambda s: find_operator(s, EMAIL))
    assert database.run(lambda s: find_operator(s, EMAIL, other.id)).id == there.id
    with pytest.raises(NotFound):
        database.run(lambda s: find_operator(s, "nobody@example.com"))


def test_secrets_are_kept_as_hashes(database: TestDatabase, who: Operator) -> None:
    secret = link(database, who)
    token = signed_in(database, who)
    hashes = database.run(
        lambda s: [
            *s.connection().execute(select(sign_in_link.c.link_hash)).scalars(),
            *s.connection().execute(select(operator_session.c.token_hash)).scalars(),
        ]
    )
    assert {hashlib.sha256(text.encode()).digest() for text in (secret, token)} <= set(hashes)


def test_a_link_lets_in_once_and_looking_spends_nothing(
    database: TestDatabase, who: Operator
) -> None:
    secret = link(database, who, Purpose.INVITE)
    for _ in range(2):
        seen = database.run(lambda s: look_at_link(s, secret))
        assert isinstance(seen, Operator)
    assert isinstance(database.run(lambda s: take_link(s, secret)), Operator)
    again = database.run(lambda s: take_link(s, secret))
    assert isinstance(again, Refused)
    assert again.why is Refusal.SPENT
    assert database.run(lambda s: find_operator(s, EMAIL)).status.value == "active"


@pytest.mark.parametrize(("purpose", "minutes"), [(Purpose.SIGN_IN, 15), (Purpose.INVITE, 4320)])
def test_a_link_is_good_for_its_time(
    database: TestDatabase, who: Operator, purpose: Purpose, minutes: int
) -> None:
    first, second = link(database, who, purpose), link(database, who, purpose)
    later(database, minutes=minutes, seconds=-5)
    assert isinstance(database.run(lambda s: take_link(s, first)), Operator)
    later(database, seconds=10)
    late = database.run(lambda s: take_link(s, second))
    assert isinstance(late, Refused)
    assert late.why is Refusal.EXPIRED


@pytest.mark.servers_only
def test_of_two_at_once_one_is_let_in(database: TestDatabase, who: Operator) -> None:
    secret = link(database, who)
    first = Player(database, lambda s: take_link(s, secret), holding=True)
    second = Player(database, lambda s: take_link(s, secret))
    second.wait_until_blocked()
    assert isinstance(first.commit(), Operator)
    late = second.answer()
    assert isinstance(late, Refused)
    assert late.why is Refusal.SPENT


def test_a_session_ends_when_it_was_not_used_for_half_an_hour(
    database: TestDatabase, who: Operator
) -> None:
    token = signed_in(database, who)
    for _ in range(3):
        later(database, minutes=29)
        assert is_live(database, token)
    later(database, minutes=30, seconds=1)
    assert not is_live(database, token)


def test_a_session_ends_after_twelve_hours_however_much_it_is_used(
    database: TestDatabase, who: Operator
) -> None:
    token = signed_in(database, who)
    for _ in range(35):
        later(database, minutes=20)
        assert is_live(database, token)
    later(database, minutes=20, seconds=1)
    assert not is_live(database, token)


def test_being_seen_is_written_once_a_minute(database: TestDatabase, who: Operator) -> None:
    token = signed_in(database, who)

    def seen() -> object:
        return database.run(
            lambda s: s.connection().execute(select(operator_session.c.seen_at)).scalar_one()
        )

    first = seen()
    later(database, seconds=50)
    assert is_live(database, token)
    assert seen() == first
    later(database, seconds=11)
    assert is_live(database, token)
    assert seen() != first


def test_signing_out_and_revoking_end_a_session_at_once(
    database: TestDatabase, tenant: Tenant, who: Operator
) -> None:
    one, two, three = (signed_in(database, who) for _ in range(3))
    database.run(lambda s: end_session(s, one, by=FROM))
    database.run(lambda s: end_session(s, one, by=FROM))
    assert [is_live(database, t) for t in (one, two, three)] == [False, True, True]
    newest = database.run(lambda s: list_sessions(s, who.id))[0]
    stranger = database.run(lambda s: invite(s, tenant.id, email="b@b.de", role=Role.OPERATOR))
    for named in (newest.public_id, "ses_nonsense", "opr_" + "0" * 32):
        with pytest.raises(NotFound):
            database.run(lambda s, n=named: revoke_session(s, stranger, n))
    database.run(lambda s: revoke_session(s, who, newest.public_id))
    assert [is_live(database, t) for t in (one, two, three)] == [False, True, False]


def test_who_is_disabled_is_out_at_once(
    database: TestDatabase, tenant: Tenant, who: Operator
) -> None:
    token, secret = signed_in(database, who), link(database, who)
    other = make_tenant(database, "other")
    with pytest.raises(NotFound):
        database.run(lambda s: disable_operator(s, other.id, who.id))
    assert is_live(database, token)
    database.run(lambda s: disable_operator(s, tenant.id, who.id))
    assert not is_live(database, token)
    assert isinstance(database.run(lambda s: take_link(s, secret)), Refused)
    disabled = database.run(lambda s: find_operator(s, EMAIL))
    with pytest.raises(OperatorDisabled):
        link(database, disabled)
    begun = database.run(lambda s: begin_session(s, disabled, method=Method.LINK))
    assert not is_live(database, begun), "a session that was begun as he was disabled"


def test_guessing_from_one_address_ends_after_twenty(database: TestDatabase, who: Operator) -> None:
    for number in range(20):
        guess = database.run(lambda s, n=number: sign_in_by_link(s, f"rstl_{n}", by=FROM))
        assert guess == Refused(Refusal.UNKNOWN)
    good = link(database, who)
    with pytest.raises(RateLimited):
        database.run(lambda s: sign_in_by_link(s, good, by=FROM))
    elsewhere = Origin(FROM.actor, "192.0.2.8")
    assert isinstance(database.run(lambda s: sign_in_by_link(s, good, by=elsewhere)), str)
    later(database, seconds=61)
    signed_in(database, who)


def test_the_audit_has_it_and_no_secret(
    database: TestDatabase, tenant: Tenant, who: Operator
) -> None:
    token = signed_in(database, who)
    secret = link(database, who)
    database.run(lambda s: take_link(s, secret))
    database.run(lambda s: sign_in_by_link(s, secret, by=FROM))
    database.run(lambda s: end_session(s, token, by=FROM))
    entries = database.run(lambda s: list_entries(s, tenant.id, limit=50)).entries
    told = [(e.action, e.outcome, e.actor_kind) for e in reversed(entries)][-6:]
    assert told == [
        ("operator.invite", "done", "application"),
        ("link.create", "done", "application"),
        ("session.begin", "done", "operator"),
        ("link.create", "done", "application"),
        ("signin.refuse", "refused", "client"),
        ("session.end", "done", "operator"),
    ]
    assert not any(text in repr(entries) for text in (secret, token))

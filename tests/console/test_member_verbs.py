"""Members of a tenant as its administrators change them: who is left, what ends, what is told."""

from __future__ import annotations

from typing import Any

import pytest

from restante.audit.actions import Action, ActorKind
from restante.audit.entries import Actor, Origin
from restante.audit.listing import list_entries
from restante.errors import NotFound, PageTokenInvalid, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.members import (
    LastAdministrator,
    disable_member,
    enable_member,
    end_session_of,
    end_sessions_of,
    give_role,
    invite_anew,
    invite_member,
    list_members,
    list_platform_admins,
    read_member,
    sessions_of,
)
from restante.identity.operators import Operator, OperatorStatus, invite, operator_by_id
from restante.identity.roles import ProofTooOld, RightMissing, Role
from restante.identity.sessions import Method, begin_session, resume_session
from restante.identity.sign_in_links import Refusal, Refused, look_at_link, take_link
from restante.identity.tenants import create_tenant
from restante.storage.transaction import Database

CHANGES = (invite_anew, disable_member, enable_member, end_sessions_of)


@pytest.fixture
def tenants(database: Database) -> tuple[bytes, bytes]:
    """Acme's id and rival's."""

    def make(session: Any) -> tuple[bytes, bytes]:
        made = [create_tenant(session, n, require_signatures=True).id for n in ("acme", "rival")]
        return made[0], made[1]

    return database.run(make)


def active(
    database: Database, tenant_id: bytes | None, email: str, role: Role = Role.TENANT_ADMIN
) -> Operator:
    """One who has signed in."""

    def make(session: Any) -> Operator:
        made = invite(session, tenant_id, email=email, role=role)
        if tenant_id is None:
            return made
        _, secret = invite_anew(session, administrator(made), made.public_id)
        assert isinstance(take_link(session, secret), Operator)
        return operator_by_id(session, made.id)

    return database.run(make)


def administrator(who: Operator, *, role: Role = Role.TENANT_ADMIN, anew: bool = True) -> Any:
    by = Origin(Actor(ActorKind.OPERATOR, who.public_id))
    return Administrator(who.tenant_id or b"", by, role=role, anew=anew)


def told(database: Database, tenant_id: bytes) -> list[tuple[str, str]]:
    entries = database.run(lambda s: list_entries(s, tenant_id, limit=50)).entries
    return [(one.action, one.outcome) for one in reversed(entries)]


def test_an_invitation_is_withdrawn_by_the_next_one(
    database: Database, tenants: tuple[bytes, bytes]
) -> None:
    boss = active(database, tenants[0], "boss@example.com")
    admin = administrator(boss)
    made, first = database.run(
        lambda s: invite_member(s, admin, email=" New@example.com ", role="operator")
    )
    assert (made.email, made.role, made.tenant_id) == ("new@example.com", "operator", tenants[0])
    _, second = database.run(lambda s: invite_anew(s, admin, made.public_id))
    found = database.run(lambda s: look_at_link(s, first))
    assert isinstance(found, Refused)
    assert found.why is Refusal.UNKNOWN
    assert isinstance(database.run(lambda s: take_link(s, second)), Operator)
    with pytest.raises(NotFound):  # he has been here: whoever made a link could come in as him
        database.run(lambda s: invite_anew(s, admin, made.public_id))
    for email, role in (("new@example.com", "operator"), ("a@example.com", "platform_admin")):
        with pytest.raises(ValidationFailed):
            database.run(lambda s, e=email, r=role: invite_member(s, admin, email=e, role=r))


def test_the_last_administrator_stays_one(database: Database, tenants: tuple[bytes, bytes]) -> None:
    boss = active(database, tenants[0], "boss@example.com")
    database.run(lambda s: invite(s, tenants[0], email="late@example.com", role=Role.TENANT_ADMIN))
    active(database, tenants[1], "other@example.com")
    admin = administrator(boss)

    def refused(session: Any, verb: Any, *more: Any) -> None:
        with pytest.raises(LastAdministrator):
            verb(session, admin, boss.public_id, *more)

    database.run(lambda s: refused(s, disable_member))
    database.run(lambda s: refused(s, give_role, "operator"))
    now = database.run(lambda s: operator_by_id(s, boss.id))
    assert (now.role, now.status) == (Role.TENANT_ADMIN, OperatorStatus.ACTIVE)
    assert told(database, tenants[0])[-2:] == [
        ("operator.disable", "refused"),
        ("operator.update", "refused"),
    ]
    active(database, tenants[0], "second@example.com")
    assert (
        database.run(lambda s: give_role(s, admin, boss.public_id, "operator")).role == "operator"
    )


def test_disabling_ends_what_he_has_and_is_undone(
    database: Database, tenants: tuple[bytes, bytes]
) -> None:
    boss = active(database, tenants[0], "boss@example.com")
    staff = active(database, tenants[0], "staff@example.com", Role.OPERATOR)
    admin = administrator(boss)
    token = database.run(lambda s: begin_session(s, staff, method=Method.LINK))
    for verb, status in (
        (disable_member, OperatorStatus.DISABLED),
        (disable_member, OperatorStatus.DISABLED),
        (enable_member, OperatorStatus.ACTIVE),
        (enable_member, OperatorStatus.ACTIVE),
    ):
        after = database.run(lambda s, v=verb: v(s, admin, staff.public_id))
        assert after.status is status
        assert database.run(lambda s: operator_by_id(s, staff.id)).status is status
    assert database.run(lambda s: resume_session(s, token)) is None
    # what is so already is no change, and no entry
    assert told(database, tenants[0])[-2:] == [
        ("operator.disable", "done"),
        ("operator.enable", "done"),
    ]
    fresh, _ = database.run(
        lambda s: invite_member(s, admin, email="n@example.com", role="operator")
    )
    database.run(lambda s: disable_member(s, admin, fresh.public_id))
    again = database.run(lambda s: enable_member(s, admin, fresh.public_id))
    assert again.status is OperatorStatus.INVITED


def test_another_ones_sessions_end_one_or_all(
    database: Database, tenants: tuple[bytes, bytes]
) -> None:
    boss = active(database, tenants[0], "boss@example.com")
    staff = active(database, tenants[0], "staff@example.com", Role.OPERATOR)
    admin = administrator(boss)

    def begin(who: Operator) -> str:
        return database.run(lambda s: begin_session(s, who, method=Method.LINK, user_agent="x"))

    tokens, own = [begin(staff) for _ in range(3)], begin(boss)
    member = database.run(lambda s: read_member(s, admin, staff.public_id))
    assert member.sessions == 3
    listed = database.run(lambda s: sessions_of(s, admin, member))
    newest = listed[0].public_id
    database.run(lambda s: end_session_of(s, admin, staff.public_id, newest))
    alive = [database.run(lambda s, t=t: resume_session(s, t)) is not None for t in (*tokens, own)]
    assert alive == [True, True, False, True]
    with pytest.raises(NotFound):  # it is another member's
        database.run(lambda s: end_session_of(s, admin, boss.public_id, listed[1].public_id))
    database.run(lambda s: end_sessions_of(s, admin, staff.public_id))
    alive = [database.run(lambda s, t=t: resume_session(s, t)) is not None for t in (*tokens, own)]
    assert alive == [False, False, False, True]
    assert told(database, tenants[0])[-3:] == [("session.revoke", "done")] * 3
    database.run(lambda s: give_role(s, admin, staff.public_id, "tenant_admin"))
    assert told(database, tenants[0])[-1] == ("operator.update", "done")


def test_members_are_paged_by_address_and_are_one_tenants(
    database: Database, tenants: tuple[bytes, bytes]
) -> None:
    boss = active(database, tenants[0], "boss@example.com")
    foreign = active(database, tenants[1], "zed@example.com")
    platform = database.run(
        lambda s: invite(s, None, email="p@example.com", role=Role.PLATFORM_ADMIN)
    )
    for name in "cab":
        active(database, tenants[0], f"{name}@example.com", Role.OPERATOR)
    admin = administrator(boss, anew=False)
    first = database.run(lambda s: list_members(s, admin, limit=3))
    rest = database.run(lambda s: list_members(s, admin, limit=3, token=first.next_page_token))
    emails = [one.operator.email for one in (*first.members, *rest.members)]
    assert emails == ["a@example.com", "b@example.com", "boss@example.com", "c@example.com"]
    rival = administrator(foreign)
    with pytest.raises(PageTokenInvalid):
        database.run(lambda s: list_members(s, rival, limit=3, token=first.next_page_token))
    sure = administrator(boss)
    before = told(database, tenants[1])
    for who in (foreign.public_id, platform.public_id, "opr_" + "0" * 32, "x"):
        for verb in (read_member, *CHANGES):
            with pytest.raises(NotFound):
                database.run(lambda s, v=verb, w=who: v(s, sure, w))
    assert told(database, tenants[1]) == before


def test_it_takes_the_role_and_to_change_a_fresh_proof(
    database: Database, tenants: tuple[bytes, bytes]
) -> None:
    boss = active(database, tenants[0], "boss@example.com")
    stale, operator = administrator(boss, anew=False), administrator(boss, role=Role.OPERATOR)
    for verb in CHANGES:
        for who, refusal in ((stale, ProofTooOld), (operator, RightMissing)):
            with pytest.raises(refusal):
                database.run(lambda s, v=verb, w=who: v(s, w, boss.public_id))
    with pytest.raises(RightMissing):
        database.run(lambda s: list_members(s, operator, limit=1))
    assert Action.OPERATOR_DISABLE not in dict(told(database, tenants[0]))


def test_admins_of_the_platform_are_listed_apart_from_members(
    database: Database, tenants: tuple[bytes, bytes]
) -> None:
    member = active(database, tenants[0], "ann@example.com")
    above = [
        active(database, None, f"{name}@example.com", Role.PLATFORM_ADMIN) for name in ("a", "b")
    ]
    first = database.run(lambda s: list_platform_admins(s, limit=1))
    assert [one.operator.id for one in first.members] == [above[0].id]
    token = first.next_page_token
    rest = database.run(lambda s: list_platform_admins(s, limit=1, token=token))
    assert [one.operator.id for one in rest.members] == [above[1].id]
    assert rest.next_page_token is None
    with pytest.raises(PageTokenInvalid):
        database.run(lambda s: list_members(s, administrator(member), limit=1, token=token))

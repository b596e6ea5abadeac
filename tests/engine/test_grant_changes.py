"""Changes of several grants: all or none, with a reason; and what they would do, asked before."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.errors import NotFound, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.grant_changes import Change, change_grants, read_change
from restante.identity.grant_list import list_granted
from restante.identity.grants import grants_of
from restante.identity.principal import PrincipalKind
from restante.identity.roles import ProofTooOld, RightMissing, Role
from restante.identity.scopes import ProjectScope, Verb
from restante.inbox.grant_effects import Effects, effects_of
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.audit import audit_entry
from tests.factories import Mailbox, Tenant, make_tenant

BY = Origin(Actor(ActorKind.OPERATOR, "opr_1"), request_id="r1")


def admin(tenant: Tenant, *, anew: bool = True) -> Administrator:
    return Administrator(tenant.id, BY, role=Role.TENANT_ADMIN, anew=anew)


def name_of(mail: Mailbox) -> str:
    return encode_id(Prefix.AGENT, mail.id)


def change(mail: Mailbox, sign: str, scope: str) -> Change:
    found = read_change(f"{sign}{name_of(mail)}.{scope}")
    assert found is not None
    return found


def changed(mail: Mailbox, *changes: Change, who: Administrator | None = None) -> list[Change]:
    by = who or admin(mail.tenant)
    return mail.run(lambda s: change_grants(s, by, changes, reason="moved"))


def held(mail: Mailbox) -> list[str]:
    return sorted(map(str, mail.run(lambda s: grants_of(s, mail.id))))


def effects(mail: Mailbox, *changes: Change) -> Effects:
    (found,) = mail.run(lambda s: effects_of(s, admin(mail.tenant), changes))
    return found


def reasons(mail: Mailbox) -> list[str]:
    query = select(audit_entry.c.reason).where(audit_entry.c.chain_id == mail.tenant.id)
    rows = mail.run(lambda s: s.connection().execute(query.order_by(audit_entry.c.number)).all())
    return [row.reason for row in rows]


def test_changes_of_two_agents_are_made_and_told_with_their_reason(tenant: Tenant) -> None:
    one, other = tenant.agent("p"), tenant.agent("q")
    assert not changed(
        one,
        change(one, "-", "agent:p:claim"),
        change(one, "+", "agent:*:memory"),
        change(other, "+", "agent:p:read"),
    )
    assert held(one) == ["agent:*:memory", "agent:p:publish", "agent:p:read"]
    assert "agent:p:read" in held(other)
    assert sorted(reasons(one)) == [
        "given: agent:*:memory",
        "given: agent:p:read",
        "why: moved",
        "why: moved",
        "withdrawn: agent:p:claim",
    ]


def test_one_that_does_not_fit_stops_all_of_them(tenant: Tenant) -> None:
    one, other = tenant.agent("p"), tenant.agent("p")
    before = held(one)
    unfit = change(other, "+", "agent:p:read")
    assert changed(one, change(one, "-", "agent:p:read"), unfit) == [unfit]
    gone = change(one, "-", "agent:q:read")
    assert changed(one, gone) == [gone]
    assert held(one) == before
    assert reasons(one) == []


def test_who_may_not_and_what_is_not_there_changes_nothing(tenant: Tenant) -> None:
    mail, foreign = tenant.agent("p"), make_tenant(tenant.database).agent("p")
    take = change(mail, "-", "agent:p:read")
    operator = Administrator(tenant.id, BY, role=Role.OPERATOR, anew=True)
    for who, error in ((operator, RightMissing), (admin(tenant, anew=False), ProofTooOld)):
        with pytest.raises(error):
            changed(mail, take, who=who)
    with pytest.raises(NotFound):
        changed(mail, take, change(foreign, "-", "agent:p:read"))
    with pytest.raises(NotFound):
        effects(mail, change(foreign, "-", "agent:p:read"))
    with pytest.raises(ValidationFailed):
        changed(mail, change(mail, "+", "agent:nowhere:read"))
    with pytest.raises(ValidationFailed):
        mail.run(lambda s: change_grants(s, admin(tenant), [take], reason=" "))
    assert "agent:p:read" in held(mail)
    assert "agent:p:read" in held(foreign)


def test_text_that_says_no_change_says_none(tenant: Tenant) -> None:
    name = name_of(tenant.agent("p"))
    for text in ("", "+", f"{name}.agent:p:read", f"+{name}.agent:p:x", "+svc_1.agent:p:read"):
        assert read_change(text) is None, text
    good = f"-{name}.agent:*:read"
    assert str(read_change(good)) == good


def test_effects_name_leases_mail_and_who_can_be_reached(tenant: Tenant) -> None:
    mail = tenant.agent("p", "q")
    tenant.agent("q", verbs=[Verb.CLAIM])
    tenant.principal(PrincipalKind.AGENT, [ProjectScope("*", Verb.READ)])
    tenant.agent("q", verbs=[Verb.PUBLISH])  # reads nothing, so nothing is sent to it
    make_tenant(tenant.database).agent("q")
    for _ in range(3):
        mail.publish(project="p")
    mail.publish(project="q")
    mail.take("p", limit=1, consumer="laptop-a")
    found = effects(mail, change(mail, "-", "agent:p:claim"))
    assert found.lost == {"p": frozenset({Verb.CLAIM})}
    assert [(one.project, one.consumer) for one in found.leases] == [("p", "laptop-a")]
    assert (found.stuck, found.gained, found.claimable) == ({"p": 2}, {}, {})
    assert found.reads == ["p", "q"]
    narrow = tenant.agent("p")
    found = effects(narrow, change(narrow, "+", "agent:*:publish"))
    assert found.gained == {"q": frozenset({Verb.PUBLISH})}
    assert found.reaches == {"q": 3}
    again = change(narrow, "+", "agent:p:read")
    assert effects(narrow, again).unfit == [again]


def test_what_comes_through_the_star_is_not_lost(tenant: Tenant) -> None:
    agent = tenant.principal(
        PrincipalKind.AGENT, [ProjectScope("*", Verb.CLAIM), ProjectScope("p", Verb.CLAIM)]
    )
    mail = Mailbox(tenant.database, tenant, agent)
    assert effects(mail, change(mail, "-", "agent:p:claim")).lost == {}
    found = effects(mail, change(mail, "-", "agent:*:claim"))
    assert found.lost == {"q": frozenset({Verb.CLAIM})}


def test_agents_are_listed_by_name_with_what_they_are_granted(tenant: Tenant) -> None:
    both, narrow = tenant.agent("p", "q"), tenant.agent("q", verbs=[Verb.READ])
    make_tenant(tenant.database).agent("p")

    def listed(**said: Any) -> list[bytes]:
        found: list[bytes] = []
        token = None
        while True:
            rows, token = tenant.database.run(
                lambda s, token=token: list_granted(s, admin(tenant), limit=1, token=token, **said)
            )
            found += [one.id for one in rows]
            if token is None:
                return found

    assert set(listed()) == {both.id, narrow.id}
    assert listed(verb=Verb.CLAIM) == [both.id]
    assert listed(project="p") == [both.id]
    assert listed(project="p", verb=Verb.MEMORY) == []
    assert listed(begins=narrow.agent.name) == [narrow.id]

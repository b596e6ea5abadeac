"""What operators see of an agent beside its inbox: memory, streams, callbacks; one tenant's, by pages."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import insert

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.coordination.memory_browser import Remembered, list_memory, read_value
from restante.errors import NotFound, PageTokenInvalid
from restante.identity.administrators import Administrator
from restante.identity.machine_list import Machine, find_machine
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Role
from restante.identity.scopes import Verb
from restante.signals.stream_list import list_streams
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.signals import node, open_stream
from restante.webhooks.reviewing import count_callbacks, list_for_review
from restante.webhooks.states import Status, Step
from tests.engine.hooks import VERBS, Hooks
from tests.engine.remembering import delete, keeper, put
from tests.factories import Mailbox, Tenant, make_tenant

BY = Origin(Actor(ActorKind.OPERATOR, "opr_1"))


def operator(tenant: Tenant) -> Administrator:
    return Administrator(tenant.id, BY, role=Role.OPERATOR)


def machine(mail: Mailbox) -> Machine:
    public_id = encode_id(Prefix.AGENT, mail.id)
    return mail.run(lambda s: find_machine(s, mail.tenant.id, PrincipalKind.AGENT, public_id))


def remembered(mail: Mailbox, **said: Any) -> list[Remembered]:
    agent, who = machine(mail), operator(mail.tenant)
    found: list[Remembered] = []
    token = None
    while True:
        rows, token = mail.run(
            lambda s, token=token: list_memory(s, who, agent, limit=2, token=token, **said)
        )
        found += rows
        if token is None:
            return found


def test_memory_is_listed_written_last_first(tenant: Tenant) -> None:
    mail, other = keeper(tenant), keeper(tenant)
    put(other, "not-its-own")
    for key in ("a", "b", "c"):
        put(mail, key, {"of": key})
    put(mail, "a", 22)
    delete(mail, "b")
    found = remembered(mail)
    assert [(one.key, one.deleted, one.version) for one in found] == [
        ("b", True, 5),
        ("a", False, 4),
        ("c", False, 3),
    ]
    assert found[1].value_bytes == 2
    assert [one.key for one in remembered(mail, key="c")] == ["c"]
    assert remembered(mail, project="q") == []
    agent, who = machine(mail), operator(tenant)
    value = mail.run(lambda s: read_value(s, who, agent, project="p", key="c"))
    assert value == b'{"of":"c"}'
    for project, key in (("p", "b"), ("p", "C"), ("q", "c"), ("none", "c")):
        with pytest.raises(NotFound):
            mail.run(lambda s, p=project, k=key: read_value(s, who, agent, project=p, key=k))
    token = mail.run(lambda s: list_memory(s, who, agent, limit=1))[1]
    others = machine(other)
    with pytest.raises(PageTokenInvalid):
        mail.run(lambda s: list_memory(s, who, others, limit=1, token=token))


def test_streams_of_processes_that_live_are_listed(tenant: Tenant) -> None:
    mail, other = tenant.agent(), tenant.agent()

    def opened(session: Any) -> None:
        now, connection = database_now(session), session.connection()
        for recipient, seen_at in ((mail, now), (other, now), (mail, now.replace(year=2020))):
            node_id = new_id()
            connection.execute(insert(node).values(node_id=node_id, seen_at=seen_at))
            connection.execute(
                insert(open_stream).values(
                    stream_id=new_id(), recipient_id=recipient.id, node_id=node_id, opened_at=now
                )
            )

    mail.run(opened)
    agent, who = machine(mail), operator(tenant)
    assert len(mail.run(lambda s: list_streams(s, who, agent))) == 1


def test_callbacks_to_approve_are_counted_and_listed_apart(tenant: Tenant) -> None:
    hooks = Hooks(tenant.database)  # type: ignore[arg-type]  # it is the test's
    one, other = tenant.agent("p", verbs=VERBS), tenant.agent("q", verbs=VERBS)
    stranger = make_tenant(tenant.database).agent("p", verbs=(*VERBS, Verb.READ))
    active = [
        hooks.active(mail, url=f"https://{n}.example.com/") for n, mail in enumerate((one, other))
    ]
    hooks.active(stranger, url="https://s.example.com/")
    suspended = hooks.decide(active[1], Step.SUSPEND)
    who = operator(tenant)

    def listed(**said: Any) -> list[bytes]:
        page = tenant.database.run(lambda s: list_for_review(s, who, limit=10, **said))
        assert page.next_page_token is None
        return [found.id for found in page.callbacks]

    assert listed() == [active[0].id, suspended.id]
    assert listed(agent_id=other.id) == [suspended.id]
    assert listed(status=Status.ACTIVE) == [active[0].id]
    assert tenant.database.run(lambda s: count_callbacks(s, who)) == 0

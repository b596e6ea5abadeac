"""The audit: written with the change it tells of, in a chain of which nothing can be changed or taken."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action, ActorKind, Outcome
from restante.audit.chain import PLATFORM, record
from restante.audit.entries import SERVER, Actor, Entry, Origin
from restante.audit.listing import list_entries, read_entry
from restante.audit.verification import verify
from restante.errors import NotFound, PageTokenInvalid, ValidationFailed
from restante.identity.agents import create_agent
from restante.identity.projects import create_project
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.audit import audit_entry
from tests.factories import Tenant
from tests.support.databases import TestDatabase

TENANT = new_id()
BY = Origin(Actor(ActorKind.OPERATOR, "opr_1"), "192.0.2.7", "req-1")


def add(database: TestDatabase, *reasons: str, tenant_id: bytes | None = TENANT) -> None:
    for reason in reasons:
        entry = Entry(tenant_id, BY, Action.AGENT_PAUSE, "agt_1", reason=reason)
        database.run(lambda s, e=entry: record(s, e))


def rows(database: TestDatabase, chain_id: bytes = TENANT) -> list[Any]:
    query = select(audit_entry).where(audit_entry.c.chain_id == chain_id)
    return database.run(
        lambda s: s.connection().execute(query.order_by(audit_entry.c.number)).mappings().all()
    )


def test_an_entry_holds_what_it_was_given(database: TestDatabase) -> None:
    refused = Entry(TENANT, BY, Action.TOKEN_REFUSE, "agt_1", Outcome.REFUSED, "revoked")
    database.run(lambda s: record(s, refused, Entry(None, SERVER, Action.KEYS_ROTATE)))
    (told,) = database.run(lambda s: list_entries(s, TENANT, limit=5)).entries
    assert (told.actor_kind, told.actor_id, told.action) == ("operator", "opr_1", "token.refuse")
    assert (told.target, told.outcome, told.reason) == ("agt_1", "refused", "revoked")
    assert (told.address, told.request_id) == ("192.0.2.7", "req-1")
    assert told.entry_id.startswith("aud_")
    (other,) = database.run(lambda s: list_entries(s, None, limit=5)).entries
    assert (other.actor_kind, other.actor_id, other.target) == ("server", None, None)
    assert database.run(verify) is None


def test_entries_of_a_change_that_is_rolled_back_are_gone(database: TestDatabase) -> None:
    add(database, "stays")

    def fail(session: Session) -> None:
        create_project(session, TENANT, "p1")
        raise ValidationFailed

    with pytest.raises(ValidationFailed):
        database.run(fail)
    assert [row["reason"] for row in rows(database)] == ["stays"]
    assert database.run(verify) is None


def test_an_application_s_own_session_writes_them_too(database: TestDatabase) -> None:
    add(database, "first")
    with Session(database.engine) as session:
        record(session, Entry(TENANT, BY, Action.AGENT_RESUME, "agt_1"))
        session.rollback()
        record(session, Entry(TENANT, BY, Action.AGENT_DISABLE, "agt_1"))
        session.commit()
    assert [row["action"] for row in rows(database)] == ["agent.pause", "agent.disable"]
    assert database.run(verify) is None


def test_many_writers_at_once_keep_one_chain(database: TestDatabase) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: add(database, f"{n} a", f"{n} b", f"{n} c"), range(4)))
    written = rows(database)
    assert [row["number"] for row in written] == list(range(1, 13))
    assert len({row["reason"] for row in written}) == 12
    assert [row["at"] for row in written] == sorted(row["at"] for row in written)
    assert database.run(verify) is None


def test_the_chain_is_locked_after_all_else(database: TestDatabase, tenant: Tenant) -> None:
    """Entries are recorded in the middle of a verb; others wait for the chain no longer than they must."""
    mail, statements = tenant.agent(), []

    def note(_c: Any, _u: Any, statement: str, *_rest: Any) -> None:
        statements.append(statement.upper())

    def work(session: Session) -> None:
        record(session, Entry(tenant.id, BY, Action.EVENT_REDRIVE))
        create_project(session, tenant.id, "later")

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        database.run(work)
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
    first = next(i for i, text in enumerate(statements) if "AUDIT_CHAIN" in text)
    assert any("INTO PROJECT" in text for text in statements[:first])
    touched = statements[first:]
    assert all("AUDIT_" in text or "TIMESTAMP" in text or "_NOW" in text for text in touched)
    assert mail.id
    assert len(rows(database, tenant.id)) == 2


def test_lists_are_newest_first_paged_and_of_one_tenant(database: TestDatabase) -> None:
    add(database, *"abcde")
    add(database, "foreign", tenant_id=new_id())
    first = database.run(lambda s: list_entries(s, TENANT, limit=3))
    token = first.next_page_token
    rest = database.run(lambda s: list_entries(s, TENANT, limit=3, token=token))
    told = [entry.reason for entry in (*first.entries, *rest.entries)]
    assert told == list("edcba")
    assert rest.next_page_token is None
    for tenant_id, action in ((new_id(), None), (TENANT, Action.AGENT_PAUSE), (None, None)):
        with pytest.raises(PageTokenInvalid):
            database.run(
                lambda s, t=tenant_id, a=action: list_entries(s, t, limit=3, token=token, action=a)
            )


def test_lists_may_be_of_one_action_or_target(database: TestDatabase) -> None:
    database.run(lambda s: record(s, Entry(TENANT, BY, Action.AGENT_RESUME, "agt_2")))
    add(database, "a", "b")
    for members, number in (
        ({"action": Action.AGENT_PAUSE}, 2),
        ({"target": "agt_2"}, 1),
        ({"target": "agt_2", "action": Action.AGENT_PAUSE}, 0),
    ):
        found = database.run(lambda s, m=members: list_entries(s, TENANT, limit=9, **m))
        assert len(found.entries) == number


def test_lists_may_be_of_one_actor_and_of_a_time(database: TestDatabase) -> None:
    other = Origin(Actor(ActorKind.OPERATOR, "opr_2"))
    database.run(lambda s: record(s, Entry(TENANT, other, Action.AGENT_PAUSE, "agt_2")))
    first = database.run(lambda s: list_entries(s, TENANT, limit=1)).entries[0].at
    database.clock_offset += timedelta(hours=1)
    add(database, "b")
    second = database.run(lambda s: list_entries(s, TENANT, limit=1)).entries[0].at
    for members, number in (
        ({"actor": "opr_2"}, 1),
        ({"since": first}, 2),
        ({"since": second}, 1),
        ({"until": second}, 1),
        ({"until": first}, 0),
        ({"since": first, "until": second, "actor": "opr_2"}, 1),
        ({"since": second + timedelta(hours=1)}, 0),
        ({"until": second + timedelta(hours=1)}, 2),
    ):
        found = database.run(lambda s, m=members: list_entries(s, TENANT, limit=9, **m))
        assert len(found.entries) == number, members
    page = database.run(lambda s: list_entries(s, TENANT, limit=1, since=first))
    for members in ({}, {"since": second}, {"since": first, "actor": "opr_2"}):
        with pytest.raises(PageTokenInvalid):
            database.run(
                lambda s, m=members: list_entries(
                    s, TENANT, limit=1, token=page.next_page_token, **m
                )
            )


def test_one_entry_is_read_with_its_place_in_the_chain(database: TestDatabase) -> None:
    add(database, "a", "b")
    newest, oldest = database.run(lambda s: list_entries(s, TENANT, limit=2)).entries
    found = database.run(lambda s: read_entry(s, TENANT, newest.entry_id))
    before = database.run(lambda s: read_entry(s, TENANT, oldest.entry_id))
    assert (found.entry, found.number, found.intact) == (newest, 2, True)
    assert found.previous_hash == before.entry_hash
    assert (before.before, before.after) == (None, newest.entry_id)
    assert (found.before, found.after) == (oldest.entry_id, None)
    database.run(
        lambda s: s.connection().execute(
            update(audit_entry).where(audit_entry.c.number == 2).values(reason="another")
        )
    )
    assert not database.run(lambda s: read_entry(s, TENANT, newest.entry_id)).intact
    for tenant_id, named in ((None, newest.entry_id), (TENANT, "aud_x"), (TENANT, "x")):
        with pytest.raises(NotFound):
            database.run(lambda s, t=tenant_id, n=named: read_entry(s, t, n))


def test_verbs_that_change_who_there_is_leave_entries(database: TestDatabase) -> None:
    made = database.run(lambda s: create_tenant(s, "acme", require_signatures=True, by=BY))
    project = database.run(lambda s: create_project(s, made.id, "p1", by=BY))
    agent = database.run(
        lambda s: create_agent(s, made.id, name="bob", grants=["agent:p1:read"], by=BY)
    )
    service = database.run(
        lambda s: create_service(s, made.id, name="ci", scopes=["tenant:audit:read"], by=BY)
    )
    agt, svc = encode_id(Prefix.AGENT, agent.id), encode_id(Prefix.SERVICE, service.id)
    told = [(row["action"], row["target"], row["reason"]) for row in rows(database, made.id)]
    assert told == [
        ("project.create", encode_id(Prefix.PROJECT, project.id), "p1"),
        ("agent.create", agt, "bob"),
        ("grant.assign", agt, "agent:p1:read"),
        ("service.create", svc, "ci"),
        ("grant.assign", svc, "tenant:audit:read"),
    ]
    (created,) = rows(database, PLATFORM)
    assert (created["action"], created["actor_id"]) == ("tenant.create", "opr_1")
    everything = json.dumps([dict(row) for row in rows(database, made.id)], default=repr)
    assert agent.client_secret not in everything
    assert service.client_secret not in everything

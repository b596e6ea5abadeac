"""Creating tenants, projects, agents and services: what is refused changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import NotFound, ValidationFailed
from restante.identity.agents import create_agent
from restante.identity.credentials import authenticate_client
from restante.identity.grants import grants_of
from restante.identity.projects import create_project, projects_of
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant, find_tenant
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.identity import credential, granted_scope, principal
from restante.storage.tables.inboxes import inbox
from tests.support.databases import TestDatabase


@pytest.fixture
def tenant_id(database: TestDatabase) -> bytes:
    def make(session: Session) -> bytes:
        made = create_tenant(session, "acme", require_signatures=True)
        create_project(session, made.id, "p1")
        return made.id

    return database.run(make)


def refusal(database: TestDatabase, work: Callable[[Session], Any]) -> dict[str, str]:
    """The one fault that the work is refused for; nothing of it may stay."""
    tables = (principal, granted_scope, credential, inbox)

    def rows() -> list[list[Any]]:
        return database.run(lambda s: [list(s.connection().execute(select(t))) for t in tables])

    before = rows()
    with pytest.raises(ValidationFailed) as caught:
        database.run(work)
    assert rows() == before
    (fault,) = caught.value.members["errors"]
    return dict(fault)


def test_a_tenant_is_found_by_id_and_by_name(database: TestDatabase, tenant_id: bytes) -> None:
    for text in ("acme", encode_id(Prefix.TENANT, tenant_id)):
        found = database.run(lambda s, text=text: find_tenant(s, text))
        assert (found.id, found.name, found.require_signatures) == (tenant_id, "acme", True)
    for text in ("Acme", "acme ", "", "ten_" + "0" * 32, "acm_"):
        with pytest.raises(NotFound):
            database.run(lambda s, text=text: find_tenant(s, text))


def test_names_are_taken_once(database: TestDatabase, tenant_id: bytes) -> None:
    def again(session: Session) -> None:
        create_tenant(session, "acme", require_signatures=False)

    assert refusal(database, again)["pointer"] == "/name"
    assert refusal(database, lambda s: create_project(s, tenant_id, "p1"))["pointer"] == "/slug"
    database.run(lambda s: create_agent(s, tenant_id, name="bob"))
    assert (
        "already" in refusal(database, lambda s: create_agent(s, tenant_id, name="bob"))["detail"]
    )
    # an agent and a service may share a name, and so may agents of two tenants
    database.run(lambda s: create_service(s, tenant_id, name="bob", scopes=["tenant:audit:read"]))
    other = database.run(lambda s: create_tenant(s, "other", require_signatures=False))
    database.run(lambda s: create_agent(s, other.id, name="bob"))
    database.run(lambda s: create_project(s, other.id, "p1"))


@pytest.mark.parametrize(
    "name", ["", " x", "x ", "a\nb", "a\x00b", "x" * 191, "ten_" + "0" * 32, "agt_" + "f" * 32]
)
def test_names_that_cannot_be(database: TestDatabase, tenant_id: bytes, name: str) -> None:
    for work in (
        lambda s: create_tenant(s, name, require_signatures=False),
        lambda s: create_agent(s, tenant_id, name=name),
        lambda s: create_service(s, tenant_id, name=name, scopes=["tenant:audit:read"]),
    ):
        assert refusal(database, work)["pointer"] == "/name"


@pytest.mark.parametrize("slug", ["", "a b", "ä", "a" * 65, "*", "a:b", "a/b", "a\n"])
def test_slugs_that_cannot_be(database: TestDatabase, tenant_id: bytes, slug: str) -> None:
    assert refusal(database, lambda s: create_project(s, tenant_id, slug))["pointer"] == "/slug"


def test_slugs_differ_by_case(database: TestDatabase, tenant_id: bytes) -> None:
    database.run(lambda s: create_project(s, tenant_id, "P1"))
    assert set(database.run(lambda s: projects_of(s, tenant_id))) == {"p1", "P1"}


def test_a_new_agent_has_an_empty_inbox_of_its_own_epoch(
    database: TestDatabase, tenant_id: bytes
) -> None:
    made = [
        database.run(lambda s, name=name: create_agent(s, tenant_id, name=name)) for name in "ab"
    ]
    rows = database.run(lambda s: list(s.connection().execute(select(inbox))))
    assert {row.recipient_id for row in rows} == {agent.id for agent in made}
    assert len({row.epoch for row in rows}) == 2
    assert {(row.head, row.oldest_cursor, row.tenant_id) for row in rows} == {(0, 0, tenant_id)}
    service = database.run(
        lambda s: create_service(s, tenant_id, name="s", scopes=["tenant:audit:read"])
    )
    inboxes = database.run(lambda s: list(s.connection().execute(select(inbox.c.recipient_id))))
    assert service.id not in {row.recipient_id for row in inboxes}


@pytest.mark.parametrize(
    ("grant", "words"),
    [
        ("agent:nope:read", "no project 'nope'"),
        ("agent:p1:write", "is no scope"),
        ("nonsense", "is no scope"),
        ("", "is no scope"),
        ("tenant:audit:read", "services only"),
    ],
)
def test_grants_that_cannot_be(
    database: TestDatabase, tenant_id: bytes, grant: str, words: str
) -> None:
    grants = ["agent:p1:read", grant]
    fault = refusal(database, lambda s: create_agent(s, tenant_id, name="bob", grants=grants))
    assert fault["pointer"] == "/grants/1"
    assert words in fault["detail"]


def test_another_tenants_project_is_none(database: TestDatabase, tenant_id: bytes) -> None:
    other = database.run(lambda s: create_tenant(s, "other", require_signatures=False))
    database.run(lambda s: create_project(s, other.id, "theirs"))

    def borrow(session: Session) -> None:
        create_agent(session, tenant_id, name="bob", grants=["agent:theirs:read"])

    assert "no project 'theirs'" in refusal(database, borrow)["detail"]


def test_what_is_granted(database: TestDatabase, tenant_id: bytes) -> None:
    grants = ["agent:*:read", "agent:p1:publish", "agent:*:read"]
    agent = database.run(lambda s: create_agent(s, tenant_id, name="bob", grants=grants))
    granted = database.run(lambda s: grants_of(s, agent.id))
    assert {str(scope) for scope in granted} == {"agent:*:read", "agent:p1:publish"}


def test_a_service_needs_a_scope(database: TestDatabase, tenant_id: bytes) -> None:
    fault = refusal(database, lambda s: create_service(s, tenant_id, name="s", scopes=[]))
    assert fault["pointer"] == "/scopes"


def test_capabilities_are_words(database: TestDatabase, tenant_id: bytes) -> None:
    def make(*capabilities: str) -> Callable[[Session], Any]:
        return lambda s: create_agent(s, tenant_id, name="bob", capabilities=capabilities)

    assert refusal(database, make("good", "not good"))["pointer"] == "/capabilities/1"
    database.run(make("translate:de", "translate:de"))
    rows = database.run(lambda s: list(s.connection().execute(select(principal.c.capabilities))))
    assert rows == [('["translate:de"]',)]


def test_the_secret_is_kept_as_a_hash_and_shown_once(
    database: TestDatabase, tenant_id: bytes
) -> None:
    agent = database.run(lambda s: create_agent(s, tenant_id, name="bob"))
    assert agent.client_secret not in repr(agent)
    assert len(agent.client_secret) > 40
    rows = database.run(lambda s: list(s.connection().execute(select(credential))))
    assert agent.client_secret not in str(rows)
    client_id = encode_id(Prefix.AGENT, agent.id)
    client = database.run(lambda s: authenticate_client(s, client_id, agent.client_secret))
    assert client is not None
    assert (client.principal_id, client.tenant_id) == (agent.id, tenant_id)


def test_nobody_else_passes_with_it(database: TestDatabase, tenant_id: bytes) -> None:
    bob = database.run(lambda s: create_agent(s, tenant_id, name="bob"))
    eve = database.run(lambda s: create_agent(s, tenant_id, name="eve"))
    for client_id, secret in (
        (encode_id(Prefix.AGENT, eve.id), bob.client_secret),
        (encode_id(Prefix.SERVICE, bob.id), bob.client_secret),
        (encode_id(Prefix.AGENT, new_id()), bob.client_secret),
        (encode_id(Prefix.AGENT, bob.id), bob.client_secret[:-1]),
        (encode_id(Prefix.AGENT, bob.id), ""),
        (encode_id(Prefix.AGENT, bob.id), "\udcff"),
        (encode_id(Prefix.AGENT, bob.id).upper(), bob.client_secret),
        ("", bob.client_secret),
    ):
        asked = database.run(lambda s, c=client_id, t=secret: authenticate_client(s, c, t))
        assert asked is None

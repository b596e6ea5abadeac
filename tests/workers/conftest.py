"""Streams of agents with real tokens, on a clock that tests move."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.identity.credentials import Client, add_client_secret
from restante.identity.token_keys import TokenKeys
from restante.identity.tokens import Claims, verify
from restante.signals.hub import Hub
from restante.signals.streams import Stream, Streams
from restante.storage.clock import database_now
from restante.storage.tables.identity import credential
from tests.factories import Mailbox, Tenant, make_tenant
from tests.support.databases import TestDatabase

ISSUER = "http://127.0.0.1:8000"
HEARTBEAT_SECONDS = 30.0


class Clock:
    """Monotonic time."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def streams(clock: Clock) -> Streams[Claims]:
    return Streams(Hub(), limit=100, heartbeat_seconds=HEARTBEAT_SECONDS, clock=clock)


@pytest.fixture
def tenant(database: TestDatabase) -> Tenant:
    return make_tenant(database)


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    return tenant.agent()


@pytest.fixture
def subscribe(
    database: TestDatabase, streams: Streams[Claims]
) -> Callable[[Mailbox], Stream[Claims]]:
    """Opens a stream of an agent with a token of its own."""
    keys = TokenKeys(ISSUER, ["k" * 40])

    def issue(session: Session, mail: Mailbox) -> Claims:
        add_client_secret(session, mail.id)
        mine = select(credential.c.credential_id).where(credential.c.principal_id == mail.id)
        newest = session.connection().execute(mine.order_by(credential.c.credential_id.desc()))
        client = Client(mail.id, mail.tenant.id, mail.agent.kind, newest.scalars().first() or b"")
        token = keys.issue(session, client, mail.agent.scopes).access_token
        now = database_now(session).timestamp()
        return verify(token, issuer=ISSUER, keys=keys.verifying(session), now=now)

    def open_one(mail: Mailbox) -> Stream[Claims]:
        claims = database.run(lambda session: issue(session, mail))
        projects = [p.id for p in mail.tenant.projects.values()]
        stream = streams.open(mail.id, projects, standing=claims)
        assert stream is not None
        return stream

    return open_one

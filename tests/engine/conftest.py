"""An agent with mail of every kind in project `q`, and an empty project `p` to act in."""

from __future__ import annotations

import pytest

from tests.engine.gallery import hang
from tests.factories import Mailbox, Tenant, make_tenant
from tests.support.databases import TestDatabase


@pytest.fixture
def tenant(database: TestDatabase) -> Tenant:
    return make_tenant(database)


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    """An agent with an empty inbox."""
    return tenant.agent()


@pytest.fixture
def gallery(mail: Mailbox) -> dict[str, bytes]:
    """The same agent's inbox with an event in every state, all in project `q`."""
    return hang(mail)

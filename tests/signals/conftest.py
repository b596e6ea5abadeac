"""A tenant's agent with an empty inbox."""

from __future__ import annotations

import pytest

from tests.factories import Mailbox, Tenant, make_tenant
from tests.support.databases import TestDatabase


@pytest.fixture
def tenant(database: TestDatabase) -> Tenant:
    return make_tenant(database)


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    return tenant.agent()

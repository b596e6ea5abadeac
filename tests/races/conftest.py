"""Races are about row locks: they run on servers only, with two agents and two projects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.factories import Mailbox, Tenant, make_tenant
from tests.races.players import leave
from tests.support.databases import TestDatabase

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            assert "sqlite" not in item.name, "a race test lacks `pytestmark = servers_only`"


@pytest.fixture(autouse=True)
def _players_leave() -> Iterator[None]:
    """What a failed test leaves open holds no locks against the next."""
    yield
    leave()


@pytest.fixture
def tenant(database: TestDatabase) -> Tenant:
    return make_tenant(database)


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    return tenant.agent()

"""`world`: the whole application in this process, on each database; `alice` and `bob` in it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import extensions
from app import create_app
from config import Settings
from tests.http.world import Caller, World, verbs
from tests.support.databases import TestDatabase
from tests.support.serving import SECRET_KEY


@pytest.fixture
def settings() -> dict[str, object]:
    """What a test module sets otherwise."""
    return {}


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    given = {"database_url": database.url, "secret_key": SECRET_KEY, **settings}
    app = create_app(Settings(**given))
    one = World(app, app.test_client())
    one.tenant("acme", "main", "other")
    yield one
    with app.app_context():
        extensions.db.engine.dispose()


@pytest.fixture
def alice(world: World) -> Caller:
    """An agent of acme with every verb in main."""
    return world.agent("acme", "alice", verbs("main"))


@pytest.fixture
def bob(world: World) -> Caller:
    """Another one."""
    return world.agent("acme", "bob", verbs("main"))


@pytest.fixture
def ci(world: World) -> Caller:
    """A service of acme that publishes everywhere."""
    return world.service("acme", "ci", ["tenant:events:publish"])

"""`world`: the whole application in this process, on SQLite; `alice`, `bob` and `ci` in it.

What differs between databases is tested in tests/engine; test_everywhere.py runs through the API on each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from tests.http.callbacks import Outside, call_out_to
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import empty_tables


@pytest.fixture
def settings() -> dict[str, object]:
    """What a test module sets otherwise."""
    return {}


@pytest.fixture
def world(
    tables_on: Callable[[str], tuple[str, Engine]], settings: dict[str, object]
) -> Iterator[World]:
    url, engine = tables_on("sqlite")
    empty_tables(engine)
    with open_world(url, settings) as one:
        yield one


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


@pytest.fixture
def counted(world: World) -> Callable[[], Any]:
    """Collects the statements of what is done within it."""

    @contextmanager
    def collect() -> Iterator[list[str]]:
        seen: list[str] = []

        def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
            if not statement.startswith("BEGIN"):
                seen.append(statement)

        event.listen(world.house.database.engine, "before_cursor_execute", note)
        yield seen
        event.remove(world.house.database.engine, "before_cursor_execute", note)

    return collect


@pytest.fixture
def outside(world: World) -> Outside:
    """What the world calls is a receiver that knows the secret."""
    return call_out_to(world)


@pytest.fixture
def hooked(world: World) -> Caller:
    """An agent that may register callbacks in main."""
    return world.agent("acme", "hooked", verbs("main", "read", "claim", "callback"))

"""Stages: a served installation of its own for a test that sets something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from command_line import MIGRATIONS
from restante.storage import schema
from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.acceptance.stage import Stage
from tests.support.serving import Served

Serve = Callable[..., Served]
SetUp = Callable[..., Stage]


def upgraded(url: str) -> Database:
    engine = make_engine(url)
    schema.upgrade(engine, MIGRATIONS)
    return Database(engine)


@pytest.fixture
def stage(
    migrated_database_url: str, backend: str, serve: Serve, tmp_path: Path
) -> Iterator[SetUp]:
    """Serves an empty database with these settings and gives the stage on it."""
    database = upgraded(migrated_database_url)
    stages: list[Stage] = []

    def set_up(workers: int = 1, **settings: str) -> Stage:
        given = {"RESTANTE_INSTANCE": str(tmp_path / "instance"), **settings}
        workers = 1 if backend == "sqlite" else workers
        served = serve(migrated_database_url, workers=workers, settings=given)
        stages.append(Stage(database, served))
        return stages[-1]

    yield set_up
    for made in stages:
        made.close()
    database.engine.dispose()

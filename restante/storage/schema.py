"""The schema of a database against the migrations of this release (contract section 8).

Within a minor version changes only add: release N runs on schema N and on what N+1 makes of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, text

from restante.errors import Overloaded, RestanteError

LOCK_SECONDS = 60


class SchemaTooOld(RestanteError):
    """The database has an older schema than this release needs: run `restante db upgrade`."""


def upgrade(engine: Engine, migrations: Path) -> str:
    """Bring the schema up to this release and return its revision. Of several at once, one does it."""
    with _alone(engine), engine.begin() as connection:
        script, config = _script(migrations)
        found = _revision(connection)
        if found is not None and _is_newer(script, found):
            return found
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
    return script.get_current_head() or ""


def check(engine: Engine, migrations: Path) -> None:
    """Raise SchemaTooOld where `db upgrade` has something to do."""
    script, _ = _script(migrations)
    with engine.connect() as connection:
        found = _revision(connection)
    if found is None:
        raise SchemaTooOld("The database has no tables yet: run `restante db upgrade` first.")
    if found != script.get_current_head() and not _is_newer(script, found):
        raise SchemaTooOld


def _revision(connection: Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _is_newer(script: ScriptDirectory, revision: str) -> bool:
    """A revision that this release does not know was made by a later one."""
    return revision not in {known.revision for known in script.walk_revisions()}


def _script(migrations: Path) -> tuple[ScriptDirectory, Config]:
    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    return ScriptDirectory.from_config(config), config


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """Hold the database's upgrade lock. SQLite needs none: its writers take turns anyway."""
    if engine.dialect.name == "sqlite":
        yield
        return
    with engine.connect() as connection:
        # user locks are the server's, so the database is part of the name (64 characters at most)
        name = text("CONCAT('restante-upgrade-', LEFT(SHA2(DATABASE(), 256), 32))")
        if not connection.execute(text(f"SELECT GET_LOCK({name}, {LOCK_SECONDS})")).scalar():
            raise Overloaded(
                "Another `restante db upgrade` has been at work for a minute: wait for it."
            )
        try:
            yield
        finally:
            connection.execute(text(f"SELECT RELEASE_LOCK({name})"))

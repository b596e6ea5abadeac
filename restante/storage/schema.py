"""The schema of a database against the migrations of this release (contract section 8).

Within a minor version changes only add: release N runs on schema N and on what N+1 makes of it.
Revisions are numbered, and a migration's file is named after its own: `0001_first_tables.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

from restante.errors import Overloaded, RestanteError

LOCK_SECONDS = 25


class SchemaTooOld(RestanteError):
    """The database has an older schema than this release needs: run `restante db upgrade`."""


def upgrade(engine: Engine, migrations: Path) -> str:
    """Bring the schema up to this release and return its revision. Of several at once, one does it."""
    # alembic takes longer to load than all else that most commands need
    from alembic import command  # noqa: PLC0415 - see above
    from alembic.config import Config  # noqa: PLC0415 - see above

    with _alone(engine):
        found = revision(engine)
        if found is not None and found > newest(migrations):
            return found
        config = Config()
        config.set_main_option("script_location", str(migrations).replace("%", "%%"))
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    return newest(migrations)


def check(engine: Engine, migrations: Path) -> None:
    """Raise SchemaTooOld where `db upgrade` has something to do."""
    found = revision(engine)
    if found is None:
        raise SchemaTooOld("The database has no tables yet: run `restante db upgrade` first.")
    if found < newest(migrations):
        raise SchemaTooOld


def revision(engine: Engine) -> str | None:
    """The database's revision; None: it has none of our tables."""
    with engine.connect() as connection:
        return revision_through(connection)


def revision_through(connection: Connection) -> str | None:
    """The same, through a connection that is open."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
    return found


def newest(migrations: Path) -> str:
    """The revision that this release's migrations lead to."""
    return max(file.name.partition("_")[0] for file in (migrations / "versions").glob("[0-9]*.py"))


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
            raise Overloaded("Another `restante db upgrade` is at work: wait for it.")
        try:
            yield
        finally:
            connection.execute(text(f"SELECT RELEASE_LOCK({name})"))

"""Runs the migrations on the connection it is given (restante/storage/schema.py).

For `flask db` there is none: it runs on the database of the settings.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import context
from sqlalchemy import Connection

from config import load_settings
from restante.storage.engine import make_engine
from restante.storage.tables import metadata


def type_differs(
    _context: Any, _inspected: Any, _column: Any, inspected: Any, wanted: Any
) -> bool | None:
    """Say no where a database gives a type back under another name; None lets alembic compare."""
    if isinstance(wanted, sa.BINARY) and isinstance(inspected, sa.NUMERIC):
        return bool(inspected.precision != wanted.length)  # SQLite does not know BINARY(16)
    if isinstance(wanted, sa.Float) and isinstance(inspected, sa.DOUBLE):
        return False  # the servers call FLOAT(53) so
    return None


def run(connection: Connection) -> None:
    """Run what the command that loaded this file asks for."""
    context.configure(
        connection=connection,
        target_metadata=metadata,
        render_as_batch=connection.dialect.name == "sqlite",
        compare_type=type_differs,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


def run_on_settings() -> None:
    """Run on the database that the environment names."""
    engine = make_engine(load_settings().database_url)
    with engine.begin() as connection:
        run(connection)
    engine.dispose()


given = context.config.attributes.get("connection")
if given is None:
    run_on_settings()
else:
    run(given)

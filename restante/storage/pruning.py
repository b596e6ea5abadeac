"""Deleting what is old, some rows at a time, along an index of the instant that says so."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Column, delete, select
from sqlalchemy.orm import Session

from restante.storage.clock import database_now

ROWS = 1_000


def prune(session: Session, column: Column[Any], kept: timedelta) -> int:
    """Delete about a thousand rows whose instant is longer ago than `kept`; returns how many."""
    table = column.table
    before = database_now(session) - kept
    # no LIMIT in the DELETE, which SQLite has not: it ends at the thousandth's instant
    connection = session.connection()
    last = connection.execute(
        select(column).where(column < before).order_by(column).offset(ROWS - 1).limit(1)
    ).scalar()
    condition = column < before if last is None else column <= last
    return connection.execute(delete(table).where(condition)).rowcount

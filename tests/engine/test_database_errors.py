"""What a database refuses is logged, so it is told without what was to be written."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.statement import Insert
from restante.storage.tables.rooms import room_post
from restante.storage.unit import without_values
from tests.support.databases import TestDatabase

SECRET = "of somebody's payload"
COLUMNS = ("room_id", "number", "post_id", "author", "content", "created_at")


def row(session: Session) -> tuple[Any, ...]:
    return None, 1, new_id(), SECRET, SECRET.encode(), database_now(session)


def by_core(session: Session) -> None:
    values = dict(zip(COLUMNS, row(session), strict=True))
    session.connection().execute(insert(room_post).values(values))


def as_text(session: Session) -> None:
    Insert(room_post, *COLUMNS).later(session, [row(session)])
    session.connection()


@pytest.mark.parametrize("write", [by_core, as_text])
def test_no_value_is_told(database: TestDatabase, write: Callable[[Session], None]) -> None:
    with pytest.raises(IntegrityError) as refused:
        database.run(write)
    told = "".join(traceback.format_exception(refused.value))
    assert "INSERT INTO room_post" in told.replace("`", "")
    for secret in (SECRET, SECRET.encode().hex(), "somebody"):
        assert secret not in told


@pytest.mark.parametrize(
    "text",
    [
        "X'6f66'",
        "'it''s said'",
        r"'it\'s said'",
        "'" + "a" * 600,
        "'" + "a" * 489 + r"\\",  # cut within an escape
    ],
)
def test_a_value_is_none_however_it_is_written_or_cut(text: str) -> None:
    assert without_values(f"VALUES ({text}") == "VALUES (?"


def test_what_is_no_value_stays() -> None:
    assert without_values("UPDATE t SET a = X'00', b = 'x' WHERE c = 1") == (
        "UPDATE t SET a = ?, b = ? WHERE c = 1"
    )

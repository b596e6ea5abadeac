"""`restante db copy`: a database's rows in another one, all of them, as they were (contract section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, inspect, select, update
from sqlalchemy.orm import Session

from restante.storage import copying, incarnation, schema
from restante.storage.copying import LEFT_OUT, CopyRefused, copied_tables, copy
from restante.storage.engine import make_engine
from restante.storage.incarnation import HalfCopied
from restante.storage.tables import metadata
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.memory import memory_entry
from restante.storage.tables.operation import sample
from tests.engine.every_table import BYTES, INSTANT, TEXT, fill
from tests.engine.gallery import hang
from tests.engine.snapshot import snapshot
from tests.factories import make_tenant
from tests.support.databases import TestDatabase, create_empty, create_with_tables, empty_tables

MIGRATIONS = Path(__file__).resolve().parents[2] / "migrations"


@pytest.fixture
def old(tmp_path: Path) -> Iterator[TestDatabase]:
    """The embedded default, which is left for `database`."""
    url, engine = create_with_tables("sqlite", "old", tmp_path)
    database = TestDatabase("sqlite", url, engine)
    database.run(incarnation.advance)
    yield database
    engine.dispose()


def move(old: TestDatabase, new: TestDatabase) -> dict[str, Any]:
    def work(session: Session) -> dict[str, Any]:
        history = copying.history(session)
        found = copy(session, new, lambda _: None)
        new.run(lambda s: copying.finish(s, history))
        return {name: content.rows for name, content in found.items()}

    return old.run(work)


def test_mail_in_every_state_is_as_it_was_and_goes_on(
    old: TestDatabase, database: TestDatabase
) -> None:
    mail = make_tenant(old).agent()
    hung = hang(mail)
    held = mail.take_one("q", lease_seconds=40_000)
    mail.redrive(hung["quarantined"])
    key = mail.publish(idempotency_key="once", ordering_key="k").event_id
    before = snapshot(old)
    counts = move(old, database)
    assert snapshot(database) == before
    assert counts["agent_inbox"] == len([key for table, key in before if table == "agent_inbox"])
    database.clock_offset = old.clock_offset
    there = mail.on(database)
    seen = mail.page(limit=3)
    assert there.page(after_cursor=seen.next_cursor).events
    # the same claim settles, another one gets what comes next, and the key is known
    assert there.ack(held)["status"] == "completed"
    again = {e.id: e for e in there.take("q", limit=20)}
    assert again[hung["quarantined"]].generation == 2
    assert there.publish(idempotency_key="once", ordering_key="k").event_id == key
    head = there.inbox_row().head
    assert there.publish().sequence_number == head + 1


def test_a_row_of_every_table_is_as_it_was(old: TestDatabase, database: TestDatabase) -> None:
    """What is left out is named, and nothing else is."""
    hang(make_tenant(old).agent())
    fill(old)
    before = snapshot(old)
    counts = move(old, database)
    # the incarnation, and what a test's snapshot leaves out, are looked at by themselves
    assert {*counts, "incarnation", *(table.name for table in LEFT_OUT)} == set(metadata.tables)
    assert all(counts.values())
    assert snapshot(database) == before
    assert database.run(lambda s: copying.content(s, sample)).rows == counts["sample"] == 1
    entry = database.run(lambda s: s.connection().execute(select(memory_entry)).one())
    assert (entry.value, entry.entry_key) == (BYTES, TEXT[:200])
    assert entry.updated_at.microsecond != INSTANT.microsecond


def test_every_table_of_the_migrations_is_copied_or_left_out_by_name(tmp_path: Path) -> None:
    """Whoever adds one is asked."""
    engine = make_engine(create_empty("sqlite", "new", tmp_path))
    schema.upgrade(engine, MIGRATIONS)
    known = {table.name for table in (*copied_tables(), *LEFT_OUT)}
    assert set(inspect(engine).get_table_names()) - known == {"alembic_version"}
    assert {table.name for table in LEFT_OUT} == {"node", "open_stream", "wake"}
    engine.dispose()


def test_a_table_that_is_forgotten_is_noticed(
    old: TestDatabase, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test above would."""
    fill(old)
    kept = [table for table in copied_tables() if table is not event_content]
    monkeypatch.setattr(copying, "copied_tables", lambda: kept)
    before = snapshot(old)
    move(old, database)
    assert {table for table, _ in before.keys() - snapshot(database).keys()} == {"event_content"}


def test_a_copy_that_was_broken_off_serves_nobody_and_goes_on(
    old: TestDatabase, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(old)
    monkeypatch.setattr(copying, "ROWS", 2)
    monkeypatch.setattr(copying, "ROWS_WITH_BYTES", 2)
    mail = make_tenant(old).agent()
    for _ in range(5):
        mail.publish()
    real, rows_there = copying._insert, []

    def broken(session: Session, table: Any, rows: list[Any]) -> None:
        if table is agent_inbox and rows_there:
            raise ConnectionResetError
        rows_there.extend(rows if table is agent_inbox else [])
        real(session, table, rows)

    monkeypatch.setattr(copying, "_insert", broken)
    with pytest.raises(ConnectionResetError):
        move(old, database)
    with pytest.raises(HalfCopied, match="again"):
        database.run(incarnation.current)
    monkeypatch.setattr(copying, "_insert", real)
    move(old, database)
    assert snapshot(database) == snapshot(old)
    assert database.run(incarnation.current) == old.run(incarnation.current)


def test_what_is_not_empty_is_refused_and_left_alone(
    old: TestDatabase, database: TestDatabase
) -> None:
    mail = make_tenant(database).agent()
    mail.publish()
    before = snapshot(database)
    with pytest.raises(CopyRefused, match="agent_inbox"):
        move(old, database)
    assert snapshot(database) == before


def test_half_a_copy_of_something_else_is_refused(
    old: TestDatabase, database: TestDatabase
) -> None:
    old.run(lambda session: copy(session, database, lambda _: None))
    old.run(incarnation.advance)  # it was served again
    with pytest.raises(CopyRefused, match="served again"):
        move(old, database)


def test_a_row_that_came_after_its_table_was_copied_is_noticed(
    old: TestDatabase, database: TestDatabase
) -> None:
    mail = make_tenant(old).agent()
    mail.publish()
    old.run(lambda session: copy(session, database, lambda _: None))
    gone = delete(event_content)
    database.run(lambda session: session.connection().execute(gone))
    changed = update(agent_inbox).values(attempts=3)
    old.run(lambda session: session.connection().execute(changed))
    with pytest.raises(CopyRefused, match="agent_inbox is not the same"):
        move(old, database)


def test_the_pulse_tells_whether_anybody_was_at_work(old: TestDatabase) -> None:
    mail = make_tenant(old).agent()
    before = old.run(copying.pulse)
    assert old.run(copying.pulse) == before
    mail.publish()
    assert old.run(copying.pulse) != before


def test_back_again(old: TestDatabase, database: TestDatabase, tmp_path: Path) -> None:
    """From a server into a file."""
    mail = make_tenant(database).agent()
    hang(mail)
    fill(database)
    database.run(incarnation.current)
    before = snapshot(database)
    empty_tables(old.engine)
    move(database, old)
    assert snapshot(old) == before

"""A database that is older than it was is noticed, and only that one."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from restante.storage import incarnation
from restante.storage.incarnation import DatabaseOlderThanSeen, Incarnation
from tests.factories import pass_time
from tests.support.databases import TestDatabase
from workers.watermark import Watermark

URL = "mysql://restante:hidden@db.example:3307/mail"


def test_a_new_database_begins_a_history(database: TestDatabase) -> None:
    first = database.run(incarnation.current)
    assert first.mark == 0
    assert database.run(incarnation.current) == first
    assert database.run(incarnation.advance).mark == 1
    assert database.run(incarnation.advance) == Incarnation(first.id, first.begun_at, 2)


def test_the_same_history_goes_on(database: TestDatabase, tmp_path: Path) -> None:
    incarnation.check_seen(tmp_path, URL, database.run(incarnation.current))
    for _ in range(3):
        present = database.run(incarnation.advance)
        incarnation.check_seen(tmp_path, URL, present)
        incarnation.note_seen(tmp_path, URL, present)
        incarnation.check_seen(tmp_path, URL, present)


def test_an_earlier_mark_of_the_same_history_is_a_restored_backup(
    database: TestDatabase, tmp_path: Path
) -> None:
    backup = database.run(incarnation.current)
    incarnation.note_seen(tmp_path, URL, database.run(incarnation.advance))
    with pytest.raises(DatabaseOlderThanSeen, match="restante db restored"):
        incarnation.check_seen(tmp_path, URL, backup)


def test_a_new_incarnation_is_later_whatever_its_mark(
    database: TestDatabase, tmp_path: Path
) -> None:
    for _ in range(5):
        incarnation.note_seen(tmp_path, URL, database.run(incarnation.advance))
    pass_time(database, 1)
    begun = database.run(incarnation.begin)
    assert begun.mark == 0
    incarnation.check_seen(tmp_path, URL, begun)


def test_a_backup_of_an_earlier_incarnation_is_noticed_too(
    database: TestDatabase, tmp_path: Path
) -> None:
    for _ in range(5):
        backup = database.run(incarnation.advance)
    pass_time(database, 1)
    incarnation.note_seen(tmp_path, URL, database.run(incarnation.begin))
    with pytest.raises(DatabaseOlderThanSeen):
        incarnation.check_seen(tmp_path, URL, backup)


def test_each_database_has_its_own_mark(database: TestDatabase, tmp_path: Path) -> None:
    backup = database.run(incarnation.current)
    incarnation.note_seen(tmp_path, URL, database.run(incarnation.advance))
    incarnation.check_seen(tmp_path, URL.replace("mail", "other"), backup)
    # another password or driver is the same database
    changed = "mysql+pymysql://other:word@db.example:3307/mail"
    with pytest.raises(DatabaseOlderThanSeen):
        incarnation.check_seen(tmp_path, changed, backup)


def test_what_is_kept_tells_no_password(database: TestDatabase, tmp_path: Path) -> None:
    incarnation.note_seen(tmp_path, URL, database.run(incarnation.current))
    (file,) = tmp_path.iterdir()
    assert "hidden" not in file.read_text() + file.name
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_running_server_marks_time_and_stops_marking_on_an_older_database(
    database: TestDatabase, tmp_path: Path
) -> None:
    watermark = Watermark(database, tmp_path, URL)
    marks = [watermark.run_once()["mark"] for _ in range(2)]
    assert marks == [1, 2]
    (file,) = tmp_path.iterdir()
    seen = file.read_text()
    table = incarnation.incarnation
    database.run(lambda s: s.connection().execute(table.update().values(mark=0)))
    with pytest.raises(DatabaseOlderThanSeen):
        watermark.run_once()
    assert file.read_text() == seen

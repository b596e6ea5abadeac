"""Calls in a process that is killed in a commit, and the rows that it leaves.

The process is a fork of this one, with the application as a web worker has it; the hook is in the
fork alone: its engine's dialect kills the process (SIGKILL) just before or just after a COMMIT.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Any

from sqlalchemy import Engine, delete, insert, text

from restante.storage.tables import metadata
from restante.storage.transaction import Database
from tests.engine.snapshot import Rows, changed_rows
from tests.support.waiting import wait_until

SECONDS = 60
"""A process that is not dead by then ends by itself, which is a failure."""


class Moment(StrEnum):
    """Where in a commit a process dies."""

    BEFORE = "before"
    AFTER = "after"


def die_in_commit(act: Callable[[], object], engines: list[Engine], moment: Moment) -> None:
    """Run `act` in a process that is killed in its first commit on the first of the engines.

    `engines`: all that have connections, which must not be in two processes: they are closed first.
    """
    for engine in engines:
        engine.dispose()
    pid = os.fork()
    if pid == 0:
        _act_and_die(act, engines[0], moment)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status), f"it ended by itself: {os.waitstatus_to_exitcode(status)}"
    assert os.WTERMSIG(status) == signal.SIGKILL
    if engines[0].dialect.name != "sqlite":
        wait_until(lambda: _is_alone(engines[0]), "the server has let the dead one's locks go")


def _act_and_die(act: Callable[[], object], engine: Engine, moment: Moment) -> None:
    """Never returns."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(SECONDS)
    commit: Callable[[Any], None] = engine.dialect.do_commit

    def killed(connection: Any) -> None:
        if moment is Moment.AFTER:
            commit(connection)
        os.kill(os.getpid(), signal.SIGKILL)

    vars(engine.dialect)["do_commit"] = killed
    try:
        act()
    finally:
        os._exit(1)


def _is_alone(engine: Engine) -> bool:
    """Nobody else is connected to this database."""
    others = text(
        "SELECT COUNT(*) FROM information_schema.processlist "
        "WHERE db = DATABASE() AND id <> CONNECTION_ID()"
    )
    with engine.connect() as connection:
        return connection.execute(others).scalar() == 0


@contextmanager
def counted_commits(engine: Engine) -> Iterator[list[None]]:
    """A list that grows with every commit within."""
    seen: list[None] = []
    commit: Callable[[Any], None] = engine.dialect.do_commit

    def counted(connection: Any) -> None:
        seen.append(None)
        commit(connection)

    vars(engine.dialect)["do_commit"] = counted
    yield seen
    del vars(engine.dialect)["do_commit"]


def shape(before: Rows, after: Rows) -> Counter[tuple[str, str]]:
    """How many rows of which table came, went or changed."""
    changes: Counter[tuple[str, str]] = Counter()
    for key in changed_rows(before, after):
        how = "came" if key not in before else "went" if key not in after else "changed"
        changes[key[0], how] += 1
    return changes


def put_back(database: Database, rows: Rows, now: Rows) -> None:
    """Have the tables as they were; `now`: as they are."""
    changed = changed_rows(rows, now)

    def work(session: Any) -> None:
        for name, key in changed:
            table = metadata.tables[name]
            named = zip(table.primary_key, key, strict=True)
            session.connection().execute(delete(table).where(*(c == v for c, v in named)))
        for name, key in changed & rows.keys():
            table = metadata.tables[name]
            row = dict(zip(table.c.keys(), rows[name, key], strict=True))
            session.connection().execute(insert(table), row)

    database.run(work)

"""What a verb's statements cost: the plans the server takes, and the rows it touches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine, event, text
from sqlalchemy.orm import Session

from restante.storage.transaction import Database

LARGE = ("agent_inbox", "event_content", "scheduled_event", "ordering_waiting", "archived_event")


@dataclass(frozen=True)
class Step:
    """One line of EXPLAIN."""

    statement: str
    table: str
    access: str
    key: str | None
    extra: str


@dataclass
class Cost:
    """The statements of one unit of work, in full, and how many rows their handlers read."""

    statements: list[str] = field(default_factory=list)
    rows: int = 0


@contextmanager
def statements_of(engine: Engine) -> Iterator[list[str]]:
    """The statements that the engine executes within, with their values."""
    heard: list[str] = []

    def hear(_c: Any, cursor: Any, statement: str, parameters: Any, _x: Any, many: bool) -> None:  # noqa: FBT001 - SQLAlchemy calls it
        one = parameters[0] if many and parameters else parameters
        heard.append(cursor.mogrify(statement, one) if hasattr(cursor, "mogrify") else statement)

    event.listen(engine, "before_cursor_execute", hear)
    try:
        yield heard
    finally:
        event.remove(engine, "before_cursor_execute", hear)


def cost_of(database: Database, work: Callable[[Session], Any]) -> Cost:
    """Run one unit of work and see what it cost. Measuring itself is counted out."""
    cost = Cost()

    def measured(session: Session) -> None:
        own = _handled(session)
        own = _handled(session) - own
        before = _handled(session)
        with statements_of(database.engine) as heard:
            work(session)
            cost.statements = list(heard)
        cost.rows = _handled(session) - before - own

    database.run(measured)
    return cost


def _handled(session: Session) -> int:
    rows = session.connection().execute(text("SHOW SESSION STATUS LIKE 'Handler_read%'"))
    return sum(int(row[1]) for row in rows)


def plan(engine: Engine, statement: str) -> list[Step]:
    """The steps on large tables of a statement's plan."""
    # the table of steps is what MySQL 9 gives only when it is asked for, and MariaDB without a word
    words = "EXPLAIN " if engine.dialect.is_mariadb else "EXPLAIN FORMAT=TRADITIONAL "  # type: ignore[attr-defined]  # of MySQL's dialect
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(words + statement.replace("%", "%%")).mappings()
        steps = [
            Step(statement, row["table"] or "", row["type"] or "", row["key"], row["Extra"] or "")
            for row in rows
        ]
    return [step for step in steps if step.table in LARGE]


def faults(engine: Engine, cost: Cost, *, sorts: bool = False) -> list[Step]:
    """Steps on large tables that read a whole table or index, merge indexes or (unless told) sort."""
    found = []
    for statement in cost.statements:
        if not statement.upper().startswith(("SELECT", "UPDATE", "DELETE")):
            continue
        for step in plan(engine, statement):
            wrong = step.access in ("ALL", "index", "index_merge")
            wrong |= not sorts and "filesort" in step.extra
            if wrong:
                found.append(step)
    return found

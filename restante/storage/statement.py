"""Statements of the hot paths: their text is made once, and goes to the driver as it is.

Written in SQLAlchemy Core like all others. Its execution costs 45 to 250 µs a statement more than
the driver's own (decision 0013), which is half of a call at a batch of one; on
SQLite, where nothing of that counts, it is what runs.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import CompoundSelect, Connection, Dialect, Select, Table, Update, insert
from sqlalchemy.orm import Session

from restante.storage.driver import Answer
from restante.storage.unit import Unit, send

TEXT_BYTES = 1_000_000
"""About how long an INSERT may be; more rows take another. Servers allow 16 MiB and more."""

COMMON_BYTES = 16_000
"""Bytes that all rows of an INSERT have in common are sent once, where that leaves out so much text:
less would not pay for the two statements that it takes."""

Values = Mapping[str, Any]


class Statement:
    """A Core statement with named values; a list, or a stretch, stands for the values of an IN."""

    __slots__ = ("_core", "_row", "_texts")

    def __init__(self, core: Select[Any] | CompoundSelect[Any] | Update) -> None:
        self._core = core
        self._texts: dict[bool, str] = {}  # MariaDB quotes other words than MySQL
        self._row: Callable[[Iterable[Any]], Any] = tuple

    def rows(self, session: Session, values: Values) -> Sequence[Any]:
        """What a SELECT finds; its columns are the rows' attributes."""
        connection = _connection(session)
        if connection.dialect.name == "sqlite":
            return connection.execute(self._core, dict(values)).all()
        (answer,) = _ask(session, connection, [self._write(connection, values)])
        row = self._row
        return [row(found) for found in answer.rows]

    def rows_of_each(self, session: Session, many: Sequence[Values]) -> list[Sequence[Any]]:
        """What a SELECT finds with each of these values, all of it asked together."""
        connection = _connection(session)
        if connection.dialect.name == "sqlite":
            return [self.rows(session, values) for values in many]
        answers = _ask(session, connection, [self._write(connection, values) for values in many])
        row = self._row
        return [[row(found) for found in answer.rows] for answer in answers]

    def first(self, session: Session, values: Values) -> Any | None:
        """The first row, or None."""
        rows = self.rows(session, values)
        return rows[0] if rows else None

    def run(self, session: Session, values: Values) -> int:
        """How many rows a statement met that changes some."""
        connection = _connection(session)
        if connection.dialect.name == "sqlite":
            return connection.execute(self._core, dict(values)).rowcount
        (answer,) = _ask(session, connection, [self._write(connection, values)])
        return answer.met

    def later(self, session: Session, values: Values) -> None:
        """Carry it out with the next statement of this session; nobody asks what it met."""
        connection = _connection(session)
        if isinstance(session, Unit) and connection.dialect.name != "sqlite":
            session.later(self._write(connection, values))
        else:
            self.run(session, values)

    def made_id(self, session: Session, values: Values) -> int | None:
        """What an UPDATE that met a row gave to LAST_INSERT_ID; None where it met none, and on SQLite."""
        connection = _connection(session)
        if connection.dialect.name == "sqlite":
            return None
        (answer,) = _ask(session, connection, [self._write(connection, values)])
        return answer.made_id if answer.met else None

    def _write(self, connection: Connection, values: Values) -> str:
        dialect: Any = connection.dialect
        text = self._texts.get(dialect.is_mariadb)
        if text is None:
            text = self._texts[dialect.is_mariadb] = self._compile(dialect)
        driver: Any = connection.connection.dbapi_connection
        return text % {name: literal(driver, value) for name, value in values.items()}

    def _compile(self, dialect: Dialect) -> str:
        compiled: Any = self._core.compile(dialect=dialect)
        if not isinstance(self._core, Update):
            keys = list(self._core.selected_columns.keys())
            made: Any = namedtuple  # noqa: PYI024 - the names are data, and no checker knows them
            self._row = made("Row", keys, rename=True)._make
        text: str = compiled.string
        for name, bind in compiled.binds.items():
            if bind.expanding:
                text = text.replace(f"IN (__[POSTCOMPILE_{name}])", f"%({name})s")
            if not bind.required:  # a constant of the statement itself
                constant = literal(None, bind.effective_value).replace("%", "%%")
                text = text.replace(f"%({name})s", constant)
        return text


def stretch(numbers: Sequence[int]) -> Sequence[int]:
    """Different numbers for an IN; where none is missing in between, as a range.

    The server then reads rows that lie beside each other, instead of looking for each.
    """
    least, most = min(numbers), max(numbers)
    return range(least, most + 1) if most - least + 1 == len(numbers) else list(numbers)


class Insert:
    """Rows for some columns of a table, in as few statements as their length allows."""

    __slots__ = ("_columns", "_heads", "_table")

    def __init__(self, table: Table, *columns: str) -> None:
        self._table, self._columns = table, columns
        self._heads: dict[bool, str] = {}

    def later(self, session: Session, rows: Sequence[tuple[Any, ...]]) -> None:
        """Insert rows, each with a value for every column, with the next statement of this session."""
        if not rows:
            return
        connection = _connection(session)
        if connection.dialect.name == "sqlite":
            named = [dict(zip(self._columns, row, strict=True)) for row in rows]
            connection.execute(insert(self._table), named)
        elif isinstance(session, Unit):
            session.later(*self._write(connection, rows))
        else:
            for text in self._write(connection, rows):
                send(connection, [text])

    def _write(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> list[str]:
        head = self._head(connection.dialect)
        driver: Any = connection.connection.dbapi_connection
        columns = [_literals(driver, column) for column in zip(*rows, strict=True)]
        common = _taken_out(columns, len(rows))
        statements = [head + ",".join(part) for part in _parts(_filled_in(columns, len(rows)))]
        if not common:
            return statements
        # variables of the session, which are not to outlive the statement
        said = ",".join(f"{name}={text}" for name, text in common.items())
        unsaid = ",".join(f"{name}=NULL" for name in common)
        return [f"SET {said}", *statements, f"SET {unsaid}"]

    def _head(self, dialect: Any) -> str:
        head = self._heads.get(dialect.is_mariadb)
        if head is None:
            quote = dialect.identifier_preparer.quote
            names = ", ".join(quote(name) for name in self._columns)
            head = f"INSERT INTO {quote(self._table.name)} ({names}) VALUES "  # noqa: S608 - our own names
            self._heads[dialect.is_mariadb] = head
        return head


def _literals(driver: Any, values: Sequence[Any]) -> str | list[str]:
    """A column of values; one that all rows have in common is written once."""
    if values.count(values[0]) == len(values):
        return literal(driver, values[0])
    return [literal(driver, value) for value in values]


def _taken_out(columns: list[str | list[str]], rows: int) -> dict[str, str]:
    """Have columns of the same long bytes name a variable instead → {variable: its value's text}."""
    common: dict[str, str] = {}
    for index, column in enumerate(columns):
        if isinstance(column, str) and (rows - 1) * len(column) > COMMON_BYTES and column[0] == "X":
            columns[index] = name = f"@restante_{index}"
            common[name] = column
    return common


def _filled_in(columns: Sequence[str | list[str]], rows: int) -> list[str]:
    """The rows' texts: what they have in common is a form into which the rest is filled."""
    form = ",".join([c.replace("%", "%%") if isinstance(c, str) else "%s" for c in columns])
    own = [column for column in columns if not isinstance(column, str)]
    if not own:
        return [f"({form % ()})"] * rows
    form = f"({form})"
    return [form % values for values in zip(*own, strict=True)]


def _parts(texts: list[str]) -> Iterator[list[str]]:
    """The rows of each statement, in their order."""
    begin = length = 0
    for at, text in enumerate(texts):
        if length + len(text) > TEXT_BYTES and at > begin:
            yield texts[begin:at]
            begin, length = at, 0
        length += len(text)
    yield texts[begin:]


def literal(driver: Any, value: Any) -> str:
    """A value as SQL text; a list or range with its operator.

    Strings are escaped by the connection, which knows its modes.
    """
    kind = type(value)
    if kind is int:
        return str(value)
    if value is None:
        return "NULL"
    if kind is bytes:
        return f"X'{value.hex()}'"
    if kind is datetime:
        return f"'{value}'"
    if kind is list:
        return f"IN ({','.join([literal(driver, item) for item in value]) or 'NULL'})"
    if kind is range:
        return f"BETWEEN {value[0]} AND {value[-1]}"
    if isinstance(value, int):  # enumerations, booleans
        return str(int(value))
    if driver is None:
        if not str(value).isascii() or not str(value).replace("_", "a").isalnum():
            raise TypeError(f"no constant of a statement: {value!r}")
        return f"'{value}'"
    escaped: str = driver.escape(value)
    return escaped


def _connection(session: Session) -> Connection:
    return session.bare_connection() if isinstance(session, Unit) else session.connection()


def _ask(session: Session, connection: Connection, texts: list[str]) -> list[Answer]:
    return session.ask(*texts) if isinstance(session, Unit) else send(connection, texts)

"""Asking a server over PyMySQL's connection, and reading rows at a third of what PyMySQL takes.

PyMySQL looks at every column's description for every result (5 µs each) and hands each value
through three calls. Here descriptions are compared with those seen before. Protocol: MySQL's client
and server protocol, text result sets; PyMySQL speaks everything else of it.
"""

# ruff: noqa: SLF001 - PyMySQL has no public name for its packets; its version is pinned below 2
from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

import pymysql
from pymysql.constants import COMMAND, CR, FIELD_TYPE
from pymysql.protocol import FieldDescriptorPacket, OKPacketWrapper

Read = Callable[[bytes], Any]
Row = tuple[Any, ...]

LONG_PACKET = 0xFFFFFF
"""A packet of this length goes on in the next one."""

_NULL = 0xFB
_END = 0xFE
_ERROR = 0xFF
_BINARY = 63  # the character set of what is no text
_MOST_SHAPES = 2_000
_READ_BYTES = 65_536
_shapes: dict[bytes, tuple[Read | None, ...]] = {}


class Answer(NamedTuple):
    """Rows found, or how many were met and what LAST_INSERT_ID was given."""

    rows: list[Row]
    met: int = 0
    made_id: int = 0


def ask(connection: Any, text: str) -> Answer:
    """Send one statement and read all of its answer. Raises what PyMySQL raises."""
    connection._execute_command(COMMAND.COM_QUERY, text)
    first = connection._read_packet()
    if first.is_ok_packet():
        done = OKPacketWrapper(first)
        connection.server_status = done.server_status
        return Answer([], done.affected_rows, done.insert_id)
    columns = first.read_length_encoded_integer()
    try:
        return Answer(_read_rows(connection, columns))
    except pymysql.err.MySQLError:
        raise  # the server's word in place of a row, which ends the answer
    except OSError as error:
        connection._force_close()
        raise pymysql.err.OperationalError(
            CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({error})"
        ) from error
    except BaseException:
        connection._force_close()  # what is left of the answer would be taken for the next one's
        raise


def _read_rows(connection: Any, columns: int) -> list[Row]:
    packets = _Packets(connection._rfile.read1)
    next_packet = packets.next
    described = [next_packet() for _ in range(columns)]
    key = b"".join(described)
    shape = _shapes.get(key)
    if shape is None:
        if len(_shapes) >= _MOST_SHAPES:
            _shapes.clear()
        shape = _shapes[key] = tuple(_reader(description) for description in described)
    next_packet()  # the end of the descriptions
    rows: list[Row] = []
    while True:
        data = next_packet()
        first = data[0]
        if first == _END and len(data) < 9:
            connection.server_status = int.from_bytes(data[3:5], "little")
            return rows
        if first == _ERROR:
            pymysql.err.raise_mysql_exception(data)
        rows.append(_values(data, shape))


class _Packets:
    """The packets of one answer, cut from what the socket has: nothing of another answer follows."""

    __slots__ = ("_at", "_data", "_read")

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._data = b""
        self._at = 0

    def next(self) -> bytes:
        """The next packet's content."""
        at = self._at
        if len(self._data) < at + 4:
            at = self._fill(at, 4)
        data = self._data
        length = data[at] | data[at + 1] << 8 | data[at + 2] << 16
        at += 4
        if len(data) < at + length:
            at = self._fill(at, length)
            data = self._data
        self._at = at + length
        content = data[at : at + length]
        return content + self.next() if length == LONG_PACKET else content

    def _fill(self, at: int, length: int) -> int:
        """Have so many bytes from `at` on → where they begin now."""
        parts = [self._data[at:]]
        missing = length - len(parts[0])
        while missing > 0:
            part = self._read(max(missing, _READ_BYTES))
            if not part:
                raise OSError("the connection was closed")
            parts.append(part)
            missing -= len(part)
        self._data = b"".join(parts)
        return 0


def _values(data: bytes, shape: tuple[Read | None, ...]) -> Row:
    """The values of a row: each a length and so many bytes."""
    at = 0
    values: list[Any] = []
    for read in shape:
        length = data[at]
        at += 1
        if length >= _NULL:
            if length == _NULL:
                values.append(None)
                continue
            size = 2 if length == 0xFC else 3 if length == 0xFD else 8
            length = int.from_bytes(data[at : at + size], "little")
            at += size
        value = data[at : at + length]
        at += length
        values.append(value if read is None else read(value))
    return tuple(values)


def _instant(text: bytes) -> datetime:
    return datetime.fromisoformat(text.decode())


def _decimal(text: bytes) -> Decimal:
    return Decimal(text.decode())


_READERS: dict[int, Read] = {
    **dict.fromkeys(
        (
            FIELD_TYPE.TINY,
            FIELD_TYPE.SHORT,
            FIELD_TYPE.INT24,
            FIELD_TYPE.LONG,
            FIELD_TYPE.LONGLONG,
        ),
        int,
    ),
    FIELD_TYPE.FLOAT: float,
    FIELD_TYPE.DOUBLE: float,
    FIELD_TYPE.DECIMAL: _decimal,
    FIELD_TYPE.NEWDECIMAL: _decimal,
    FIELD_TYPE.DATETIME: _instant,
}


def _reader(description: bytes) -> Read | None:
    """How a column's values are read, by its description."""
    field: Any = FieldDescriptorPacket(description, "utf8")
    if field.type_code in _READERS:
        return _READERS[field.type_code]
    return None if field.charsetnr == _BINARY else bytes.decode

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
_BINARY = 63  # the character set of what is no text
_MOST_SHAPES = 2_000
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
    except OSError as error:
        connection._force_close()
        raise pymysql.err.OperationalError(
            CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({error})"
        ) from error
    except BaseException:
        connection._force_close()  # what is left of the answer would be taken for the next one's
        raise


def _read_rows(connection: Any, columns: int) -> list[Row]:
    read = connection._rfile.read
    described = [_packet(read) for _ in range(columns)]
    key = b"".join(described)
    shape = _shapes.get(key)
    if shape is None:
        if len(_shapes) >= _MOST_SHAPES:
            _shapes.clear()
        shape = _shapes[key] = tuple(_reader(description) for description in described)
    _packet(read)  # the end of the descriptions
    rows: list[Row] = []
    number = columns + 2
    while True:
        data = _packet(read)
        number += 1
        if data[0] == _END and len(data) < 9:
            break
        if data[0] == 0xFF:
            connection._next_seq_id = 0
            pymysql.err.raise_mysql_exception(data)
        rows.append(_values(data, shape))
    connection.server_status = int.from_bytes(data[3:5], "little")
    return rows


def _packet(read: Callable[[int], bytes]) -> bytes:
    head = read(4)
    if len(head) < 4:
        raise OSError("the connection was closed")
    length = head[0] | head[1] << 8 | head[2] << 16
    data = read(length)
    if len(data) < length:
        raise OSError("the connection was closed")
    return data + _packet(read) if length == LONG_PACKET else data


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

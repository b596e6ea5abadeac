"""Asking a server over PyMySQL's connection, reading its answers at a third of what PyMySQL takes.

PyMySQL looks at every column's description for every result (5 µs each), hands each value through
three calls, and waits for each answer before it sends the next statement. Here descriptions are
compared with those seen before, and several statements may be sent together: the server takes one
after the other from its connection. Protocol: MySQL's client and server protocol, COM_QUERY and text
result sets; PyMySQL speaks everything else of it.
"""

# ruff: noqa: SLF001 - PyMySQL has no public name for its packets; its version is pinned below 2
from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

import pymysql
from pymysql.constants import COMMAND, CR, FIELD_TYPE
from pymysql.protocol import FieldDescriptorPacket

Read = Callable[[bytes], Any]
Row = tuple[Any, ...]

LONG_PACKET = 0xFFFFFF
"""A packet of this length goes on in the next one."""

_OK = 0x00
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


class Refused(Exception):
    """The server refused a statement; those sent with it were carried out all the same."""

    def __init__(self, error: pymysql.err.MySQLError, text: str) -> None:
        super().__init__(str(error))
        self.error = error
        self.text = text


def ask(connection: Any, texts: Sequence[str]) -> list[Answer]:
    """Send statements and read an answer for each. Raises Refused, and what PyMySQL raises.

    None of them may need to know what became of those before it: so never a COMMIT after others.
    """
    written = [text.encode(connection.encoding, "surrogateescape") for text in texts]
    if connection._sock is None:
        raise pymysql.err.InterfaceError(0, "")
    if sum(map(len, written)) + len(written) >= LONG_PACKET:
        return [_ask_one(connection, text) for text in texts]
    query = bytes((COMMAND.COM_QUERY,))
    _send(
        connection,
        b"".join([(len(text) + 1).to_bytes(4, "little") + query + text for text in written]),
    )
    return _read(connection, texts)


def _send(connection: Any, data: bytes) -> None:
    """As PyMySQL does it, but for `sendall`, which under gevent asks for the buffer's size first."""
    try:
        _allow(connection, connection._write_timeout)
        sent = connection._sock.send(data)
    except OSError as error:
        connection._force_close()
        raise pymysql.err.OperationalError(
            CR.CR_SERVER_GONE_ERROR, f"MySQL server has gone away ({error!r})"
        ) from error
    if sent < len(data):
        connection._write_bytes(data[sent:])


def _allow(connection: Any, seconds: float | None) -> None:
    if connection._current_timeout != seconds:
        connection._sock.settimeout(seconds)
        connection._current_timeout = seconds


def commit(connection: Any) -> None:
    """COMMIT, in place of PyMySQL's own, which takes three times as long."""
    try:
        ask(connection, ("COMMIT",))
    except Refused as refused:
        raise refused.error from None


def _ask_one(connection: Any, text: str) -> Answer:
    connection._execute_command(COMMAND.COM_QUERY, text)
    (answer,) = _read(connection, (text,))
    return answer


def _read(connection: Any, texts: Sequence[str]) -> list[Answer]:
    answers: list[Answer] = []
    refused: Refused | None = None
    try:
        _allow(connection, connection._read_timeout)
        packets = _Packets(connection._rfile.read1)
        for text in texts:
            try:
                answers.append(_read_answer(connection, packets))
            except pymysql.err.MySQLError as error:  # it ends its answer, not the connection
                refused = refused or Refused(error, text)
    except OSError as error:
        connection._force_close()
        raise pymysql.err.OperationalError(
            CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({error})"
        ) from error
    except BaseException:
        connection._force_close()  # what is left would be taken for the next one's answer
        raise
    if refused is not None:
        raise refused
    return answers


def _read_answer(connection: Any, packets: _Packets) -> Answer:
    first = packets.next()
    if first[0] == _OK:
        met, at = _number(first, 1)
        made_id, at = _number(first, at)
        connection.server_status = int.from_bytes(first[at : at + 2], "little")
        return Answer([], met, made_id)
    if first[0] == _ERROR:
        pymysql.err.raise_mysql_exception(first)
    columns, _ = _number(first, 0)
    described = [packets.next() for _ in range(columns)]
    key = b"".join(described)
    shape = _shapes.get(key)
    if shape is None:
        if len(_shapes) >= _MOST_SHAPES:
            _shapes.clear()
        shape = _shapes[key] = tuple(_reader(description) for description in described)
    packets.next()  # the end of the descriptions
    rows: list[Row] = []
    while True:
        data = packets.next()
        if data[0] == _END and len(data) < 9:
            connection.server_status = int.from_bytes(data[3:5], "little")
            return Answer(rows)
        if data[0] == _ERROR:
            pymysql.err.raise_mysql_exception(data)
        rows.append(_values(data, shape))


class _Packets:
    """The packets of some answers, cut from what the socket has: nothing else follows them."""

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


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A length-encoded number → (it, where it ends)."""
    first = data[at]
    if first < _NULL:
        return first, at + 1
    size = 2 if first == 0xFC else 3 if first == 0xFD else 8
    return int.from_bytes(data[at + 1 : at + 1 + size], "little"), at + 1 + size


def _values(data: bytes, shape: tuple[Read | None, ...]) -> Row:
    """The values of a row: each a length and so many bytes."""
    at = 0
    values: list[Any] = []
    add = values.append
    for read in shape:
        length = data[at]
        at += 1
        if length == _NULL:
            add(None)
            continue
        if length > _NULL:
            length, at = _number(data, at - 1)
        end = at + length
        add(data[at:end] if read is None else read(data[at:end]))
        at = end
    return tuple(values)


# the rows of an answer have most of their instants in common
@lru_cache(maxsize=256)
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

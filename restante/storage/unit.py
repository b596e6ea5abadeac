"""The session of a unit of work: one connection and what travels with it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session

from restante.storage.driver import Answer, Refused, ask

_SHOWN_CHARACTERS = 500
# a string, or what the cut has left of one
_VALUE = re.compile(r"X?'(?:[^'\\]|\\.|''|\\$)*(?:'|$)", re.DOTALL)


class Unit(Session):
    """A Session of which the engine needs two things, its connection and its info.

    What else a Session does (an identity map, transactions as a state machine of their own) took
    100 µs of every call; here it is not made at all. Verbs cannot tell it from an application's own.

    Statements whose answer nobody waits for are kept (`later`) and sent with the next one, or before
    the commit: under load a round trip costs more than most of them.
    """

    def __init__(self, engine: Engine, info: Mapping[Any, Any]) -> None:
        # Session's own initialiser is what is saved
        self.__dict__["info"] = dict(info)
        self._engine = engine
        self._connection: Connection | None = None
        self._kept: list[str] = []

    def connection(self, *_: Any, **__: Any) -> Connection:
        """The connection, its transaction begun and all that was kept for later carried out."""
        connection = self._begun()
        if self._kept:
            self.ask()
        return connection

    def bare_connection(self) -> Connection:
        """The connection, for what is asked through `ask`."""
        return self._begun()

    def later(self, *texts: str) -> None:
        """Have statements carried out with the next one."""
        self._kept += texts

    def ask(self, *texts: str) -> list[Answer]:
        """What is answered to these, sent together with what was kept."""
        kept, self._kept = self._kept, []
        return send(self._begun(), [*kept, *texts])[len(kept) :]

    def commit(self) -> None:
        """Commit what was done, if anything was."""
        if self._kept:
            self.ask()
        if self._connection is not None:
            self._connection.commit()

    def rollback(self) -> None:
        """Undo what was done, if anything was."""
        self._kept.clear()
        if self._connection is not None:
            self._connection.rollback()

    def close(self) -> None:
        """Give the connection back; what is not committed is undone."""
        connection, self._connection = self._connection, None
        self._kept.clear()
        if connection is not None:
            connection.close()

    def _begun(self) -> Connection:
        connection = self._connection
        if connection is None:
            # kept before it begins: one that cannot is given back all the same
            connection = self._connection = self._engine.connect()
            connection.begin()
        return connection


def send(connection: Connection, texts: Sequence[str]) -> list[Answer]:
    """Ask the server, with the events and the errors of any other statement."""
    try:
        # as SQLAlchemy asks itself: tests count statements by these events
        if connection._has_events or connection.engine._has_events:  # noqa: SLF001 - as SQLAlchemy
            for text in texts:
                connection.dispatch.before_cursor_execute(connection, None, text, (), None, False)
        return ask(connection.connection.dbapi_connection, texts)
    except Refused as refused:
        text = without_values(refused.text)
        connection._handle_dbapi_exception(refused.error, text, None, None, None)  # noqa: SLF001 - see above
    except Exception as error:  # noqa: BLE001 - it is turned into SQLAlchemy's, as by its own execution
        text = without_values(texts[0])
        connection._handle_dbapi_exception(error, text, None, None, None)  # noqa: SLF001 - see above


def without_values(text: str) -> str:
    """The beginning of a statement, for errors: what was in it belongs to others, and errors are logged."""
    return _VALUE.sub("?", text[:_SHOWN_CHARACTERS])

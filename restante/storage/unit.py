"""The session of a unit of work: one connection and what travels with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.orm import Session


class Unit(Session):
    """A Session of which the engine needs two things, its connection and its info.

    What else a Session does (an identity map, transactions as a state machine of their own) took
    100 µs of every call; here it is not made at all. Verbs cannot tell it from an application's own.
    """

    def __init__(self, engine: Engine, info: Mapping[Any, Any]) -> None:
        # Session's own initialiser is what is saved
        self.__dict__["info"] = dict(info)
        self._engine = engine
        self._connection: Connection | None = None

    def connection(self, *_: Any, **__: Any) -> Connection:
        """The connection, its transaction begun."""
        connection = self._connection
        if connection is None:
            connection = self._engine.connect()
            connection.begin()
            self._connection = connection
        return connection

    def commit(self) -> None:
        """Commit what was done, if anything was."""
        if self._connection is not None:
            self._connection.commit()

    def rollback(self) -> None:
        """Undo what was done, if anything was."""
        if self._connection is not None:
            self._connection.rollback()

    def close(self) -> None:
        """Give the connection back; what is not committed is undone."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

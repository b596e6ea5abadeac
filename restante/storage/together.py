"""Several works in one transaction: all their statements in one packet, one COMMIT for all.

Each work runs in a coroutine of its own. Where it asks the database something it stops; once all
have stopped, what they ask is sent together, in their order, and each goes on with its own answers.
So a work sees nothing of the others, and none runs beside another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import Context
from dataclasses import dataclass
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoSlot
from sqlalchemy.orm import Session

from restante.errors import OutcomeUnknown, Overloaded, RestanteError
from restante.storage.driver import Answer
from restante.storage.transaction import Database, commit, run_before_commit
from restante.storage.unit import Unit, send

Work = Callable[[Session], Any]


class Spoilt(Exception):
    """One of the works failed and all are rolled back: each has to run alone."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a work answered, committed, and its session with the hints to run; or its refusal."""

    answer: Any = None
    session: Session | None = None
    refusal: RestanteError | None = None


def run_together(database: Database, works: Sequence[tuple[Work, Context]]) -> list[Outcome]:
    """Run works, each in its context, in one transaction → an outcome for each.

    A work that is refused before it has written anything is refused alone. Whatever else goes wrong
    raises Spoilt, with nothing of any committed; but where there is no slot all are Overloaded,
    and where the connection breaks during COMMIT all are OutcomeUnknown.
    """
    try:
        return _run(database, works)
    except NoSlot:
        return [Outcome(refusal=Overloaded()) for _ in works]
    except OutcomeUnknown:
        return [Outcome(refusal=OutcomeUnknown()) for _ in works]
    except DBAPIError as error:
        database.count_retry(error)
        raise Spoilt from error


def _run(database: Database, works: Sequence[tuple[Work, Context]]) -> list[Outcome]:
    shared = database.unit()
    members: list[_Member] = []
    try:
        connection = shared.bare_connection()
        members += [_Member(shared, connection, *work) for work in works]
        _converse(connection, members)
        commit(shared)
    finally:
        for member in members:
            member.end()
        shared.close()
    return [member.outcome for member in members]


def _converse(connection: Connection, members: Sequence[_Member]) -> None:
    """Let them go on until all are done, and send what they have left to be sent."""
    for member in members:
        member.go_on([])
    while asking := [member for member in members if member.asked]:
        answers = iter(send(connection, [text for member in asking for text in member.asked]))
        given = [[next(answers) for _ in member.asked] for member in asking]
        for member, own in zip(asking, given, strict=True):
            member.go_on(own)
    left = [text for member in members for text in member.left()]
    if left:
        send(connection, left)


class _Member(Unit):
    """The session of a work, whose statements go with those of others. `asked`: what it waits for."""

    outcome: Outcome

    def __init__(self, shared: Unit, connection: Connection, work: Work, context: Context) -> None:
        super().__init__(connection.engine, shared.info)
        self._connection = connection
        self._work = work
        self._wrote = False
        self.asked: list[str] = []
        self._leader = getcurrent()
        self._coroutine = greenlet(self._run)
        self._coroutine.gr_context = context

    def go_on(self, answers: Sequence[Answer]) -> None:
        """Until it asks something, or is done. Raises what the work raises, but for its refusal."""
        self.asked = self._coroutine.switch(answers)

    def end(self) -> None:
        """Have a work that is not done give up."""
        if self._coroutine:
            self._coroutine.throw(GreenletExit)

    def left(self) -> list[str]:
        """What it kept for later and nothing has taken along."""
        kept, self._kept = self._kept, []
        return kept

    def connection(self, *_: Any, **__: Any) -> Connection:
        """The connection, for a statement of its own that may write: the others have stopped."""
        self._wrote = True
        connection = self.bare_connection()
        if self._kept:
            send(connection, self.left())
        return connection

    def later(self, *texts: str) -> None:
        self._wrote = True
        super().later(*texts)

    def ask(self, *texts: str) -> list[Answer]:
        """What is answered to these, sent with what the others ask."""
        kept = self.left()
        if not all(text.startswith("SELECT") for text in texts):
            self._wrote = True
        answers: list[Answer] = self._leader.switch([*kept, *texts])
        return answers[len(kept) :]

    def _run(self, _: Sequence[Answer]) -> list[str]:
        try:
            answer = self._work(self)
            run_before_commit(self)
        except DBAPIError:
            raise
        except RestanteError as refusal:
            if self._wrote:
                raise Spoilt from refusal
            self.outcome = Outcome(refusal=refusal)
        except Exception as error:
            raise Spoilt from error
        else:
            self.outcome = Outcome(answer, self)
        return []

"""The unit of work: one transaction, repeated where the database asks for it, hints after commit.

The edge opens it; a verb takes the session and never commits. Lock order everywhere, each
ascending: idempotency key, inbox rows, ordering-key rows, event rows by (recipient, sequence),
everything else, the audit's chains last. A first try never waits for a lock that somebody may hold
while waiting for ours: verbs look at `attempt(session)` and take the ordered, waiting way from the
second try on.
"""

from __future__ import annotations

import copy
import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoSlot
from sqlalchemy.orm import Session

from restante.errors import OutcomeUnknown, Overloaded
from restante.storage.clock import OFFSET, teach_clock
from restante.storage.members import REFUSALS
from restante.storage.unit import Unit

# blueprints, which import no SQLAlchemy, name its type from here
__all__ = ["Session"]

log = logging.getLogger("restante.storage")
T = TypeVar("T")

# lock wait, deadlock, NOWAIT, record changed (MariaDB snapshot isolation), write conflict and
# certification failure of a cluster, read-only
RETRYABLE = frozenset({1205, 1213, 3572, 1020, 1180, 3100, 3101, 1792}) | REFUSALS
# no such server now, too many connections, shutting down, gone away, lost
UNREACHABLE = frozenset({2002, 2003, 2006, 2013, 1040, 1053, 1077, 1927})
# disk full, table full, error on writing a file
FULL = frozenset({1021, 1114, 1026})
NO_SPACE = ("disk is full", "errno: 28", "No space left", "error 28 ")
TRIES = 4
SQLITE_WAIT_SECONDS = 1.0
_TRY = "restante.try"
_ADOPTED = "restante.adopted"
_TRANSIENT = "restante.tx."  # what lives as long as a transaction
_BEFORE_COMMIT = "restante.tx.before_commit"
_LAST = "restante.tx.last"
_AFTER_COMMIT = "restante.tx.after_commit"
_FAILED = "restante.tx.failed"


def attempt(session: Session) -> int:
    """Which try of this unit of work runs: 0 the first."""
    tries: int = session.info.get(_TRY, 0)
    return tries


class Repeat(Exception):
    """Another transaction was first: run this unit of work again, it will find what that one made."""


def before_commit(session: Session, write: Callable[[Session], None]) -> None:
    """Have `write` run once, as the last statements of this transaction."""
    _keep(session, _BEFORE_COMMIT, write)


def as_the_last(session: Session, write: Callable[[Session], None]) -> None:
    """Have it run once, after all that waits for the commit: for what locks what many others want."""
    _keep(session, _LAST, write)


def _keep(session: Session, where: str, write: Callable[[Session], None]) -> None:
    if _TRY not in session.info:
        adopt(session)
        session.connection()  # it says nothing of the rollback of what it has not begun
    writes = session.info.setdefault(where, [])
    if write not in writes:
        writes.append(write)


def run_before_commit(session: Session) -> None:
    """Run what waits for the end of the transaction, in the order in which it was asked for.

    One that fails leaves the transaction to be rolled back: it cannot commit without it.
    """
    if (failed := session.info.get(_FAILED)) is not None:
        raise failed
    while writes := session.info.get(_BEFORE_COMMIT) or session.info.get(_LAST):
        try:
            writes.pop(0)(session)
        except BaseException as error:
            session.info[_FAILED] = error
            raise


def run_after_commit(session: Session) -> None:
    """Run the hints of a transaction that has committed."""
    for hint in session.info.pop(_AFTER_COMMIT, ()):
        hint()


def adopt(session: Session) -> None:
    """Give a session that an application made itself the ends of a unit of work. Once is enough.

    On SQLite its connections learn the functions that the engine's own know. What was recorded and not
    written goes with a rollback, like everything else; with that of a savepoint goes what was recorded
    since.
    """
    if _TRY in session.info or session.info.get(_ADOPTED):
        return
    since: dict[object, dict[str, Any]] = {}

    def teach(session: Session, transaction: Any, connection: Connection) -> None:
        if connection.dialect.name == "sqlite":
            teach_clock(connection.connection.dbapi_connection)

    def transient(session: Session) -> dict[str, Any]:
        return {k: v for k, v in session.info.items() if str(k).startswith(_TRANSIENT)}

    def remember(session: Session, transaction: Any) -> None:
        if transaction.nested:
            since[transaction] = {k: copy.copy(v) for k, v in transient(session).items()}

    def forget(session: Session, transaction: Any) -> None:
        for key in transient(session):
            del session.info[key]
        session.info.update(since.pop(transaction, {}))
        if not transaction.nested:
            since.clear()

    session.info[_ADOPTED] = True
    event.listen(session, "after_begin", teach)
    teach(session, None, session.connection())
    event.listen(session, "before_commit", run_before_commit)
    event.listen(session, "after_commit", run_after_commit)
    event.listen(session, "after_transaction_create", remember)
    event.listen(session, "after_commit", lambda _: since.clear())
    event.listen(session, "after_soft_rollback", forget)


def after_commit(session: Session, hint: Callable[[], None]) -> None:
    """Run a hint once the transaction has committed. What must happen is a row, not a hint."""
    session.info.setdefault(_AFTER_COMMIT, []).append(hint)


class Database:
    """An engine with its units of work.

    `clock_offset` moves the clock of tests; `info` is put into every session (signals.rings.ON_RING).
    """

    def __init__(
        self,
        engine: Engine,
        *,
        clock_offset: timedelta = timedelta(0),
        sleep: Callable[[float], None] = time.sleep,
        info: Mapping[str, Any] | None = None,
    ) -> None:
        self.engine = engine
        self.info = dict(info or {})
        self.clock_offset = clock_offset
        self.retries: Counter[str] = Counter()
        self._sleep = sleep
        # SQLite has one writer: they queue here, cooperatively, and not inside its library
        self._gate = threading.Lock() if engine.dialect.name == "sqlite" else None

    def run(self, work: Callable[[Session], T]) -> T:
        """Run `work` in one transaction and return its answer, committed.

        Deadlocks and lock waits repeat the whole of it (at most 4 tries, jittered, counted).
        Raises Overloaded (no slot or, on SQLite, no turn within a second; lock waits without
        end; a disk that is full) and OutcomeUnknown (the connection broke during COMMIT).
        """
        if self._gate is None:
            answer, session = self._run(work)
        elif self._gate.acquire(timeout=SQLITE_WAIT_SECONDS):
            try:
                answer, session = self._run(work)
            finally:
                self._gate.release()
        else:
            raise Overloaded
        run_after_commit(session)
        return answer

    def unit(self, tries: int = 0) -> Unit:
        """The session of a new unit of work, or of another try of one."""
        session = Unit(self.engine, self.info)
        session.info[_TRY] = tries
        if self.clock_offset:
            session.info[OFFSET] = self.clock_offset
        return session

    def count_retry(self, error: DBAPIError, tries: int = 0) -> None:
        """A transaction is rolled back and begun anew because of this."""
        self.retries[" ".join((error.statement or "COMMIT").split()[:3])] += 1
        log.warning("retry code=%s try=%s", _code(error), tries + 1)

    def _run(self, work: Callable[[Session], T]) -> tuple[T, Session]:
        began = time.monotonic()
        tries = 0
        while True:
            session = self.unit(tries)
            try:
                answer = work(session)
                run_before_commit(session)
                commit(session)
            except NoSlot:
                raise Overloaded from None
            except Repeat:
                session.rollback()
                tries += 1
                if tries >= TRIES:
                    raise Overloaded from None
                continue
            except DBAPIError as error:
                session.rollback()
                tries = self._next_try(error, tries, began)
                continue
            finally:
                session.close()
            return answer, session

    def _next_try(self, error: DBAPIError, tries: int, began: float) -> int:
        """The number of the next try after a jittered pause, or the error once it is no use."""
        if _sqlite_busy(error):
            if time.monotonic() - began > SQLITE_WAIT_SECONDS:
                raise Overloaded from None
            self._sleep(random.uniform(0.005, 0.05))  # noqa: S311 - jitter, not a secret
            return tries
        if _no_space(error):
            log.error("disk_full code=%s", _code(error))
            raise Overloaded from error
        if (code := _code(error)) is None:
            raise error
        # a statement told to repeat, a connection found dead, a server that is just not there
        if code not in RETRYABLE and code not in UNREACHABLE and not error.connection_invalidated:
            raise error
        self.count_retry(error, tries)
        if tries + 1 >= (TRIES if code in RETRYABLE else 2):
            raise Overloaded from error
        if tries:
            self._sleep(random.uniform(0, 0.02 * 2**tries))  # noqa: S311 - jitter, not a secret
        return tries + 1


def _code(error: DBAPIError) -> int | None:
    code = error.orig.args[0] if error.orig and error.orig.args else None
    return code if isinstance(code, int) else None


def is_held(error: DBAPIError) -> bool:
    """Tell whether a NOWAIT found its row locked (3572 on MySQL, 1205 on MariaDB)."""
    return bool(error.orig and error.orig.args and error.orig.args[0] in (1205, 3572))


def commit(session: Session) -> None:
    """Commit; a connection that breaks in it leaves open whether it did.

    So does a group's member that leaves while it commits (members.py); one that takes no writes says so.
    """
    try:
        session.commit()
    except DBAPIError as error:
        at_commit = (error.statement or "").upper() in ("", "COMMIT")
        if error.connection_invalidated and at_commit and _code(error) not in REFUSALS:
            raise OutcomeUnknown from error
        raise


def _sqlite_busy(error: DBAPIError) -> bool:
    return type(error.orig).__module__ == "sqlite3" and "locked" in str(error.orig)


def _no_space(error: DBAPIError) -> bool:
    return _code(error) in FULL or any(words in str(error.orig) for words in NO_SPACE)

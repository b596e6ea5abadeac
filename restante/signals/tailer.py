"""The tailer reads the rings that other processes have committed.

Auto-increment ids are given before the commit, so a lower one can appear after a higher. The tailer
goes on from the highest it has seen and asks again, for longer than a statement may wait for a
lock, for the ids it has passed over. One statement a tick, whatever the number of streams.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import bindparam, func, or_, select
from sqlalchemy.orm import Session

from restante.signals.rings import Ring
from restante.storage.statement import Statement
from restante.storage.tables.signals import wake

MISSED_SECONDS = 10.0
"""How long an id that was passed over may still appear: twice the longest lock wait."""
MOST_MISSED = 500
MOST_ROWS = 2_000


@dataclass(frozen=True, slots=True)
class Wake:
    """A row of `wake`."""

    wake_id: int
    ring: Ring


class Tailer:
    """How far one process has read `wake`. To be used by one thread."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._missed: dict[int, float] = {}
        self._last: int | None = None
        self.skipped = False
        """Whether it has taken a new place, so that rings before it were read by nobody here."""

    def find_place(self, session: Session) -> None:
        """Start at the end of the table; ids missing just before it may still appear."""
        last = session.connection().execute(_LAST).scalar_one() or 0
        if self._last is not None and last >= self._last:
            return
        near = session.connection().execute(
            select(wake.c.wake_id).where(wake.c.wake_id > last - MOST_MISSED)
        )
        self._last, self.skipped = last, True
        self._missed = self._absent(last - MOST_MISSED, last, set(near.scalars()))

    def read(self, session: Session) -> list[Wake]:
        """The rows that are new, at most 2,000. `note` them once the transaction is over."""
        if self._last is None:
            self.find_place(session)
        self._give_up()
        statement = _NEWER if not self._missed else _NEWER_OR_MISSED
        values = {"last": self._last, **({"missed": list(self._missed)} if self._missed else {})}
        rows = statement.rows(session, values)
        return [Wake(r.wake_id, Ring(r.recipient_id, r.project_id, r.head)) for r in rows]

    def note(self, wakes: list[Wake]) -> list[Ring]:
        """Take note of what was read; returns its rings."""
        last = self._last or 0
        ids = {w.wake_id for w in wakes}
        for wake_id in ids:
            self._missed.pop(wake_id, None)
        highest = max(ids, default=0)
        if highest > last:
            self._missed.update(self._absent(max(last, highest - MOST_MISSED), highest, ids))
            self._last = highest
        while len(self._missed) > MOST_MISSED:  # the oldest: a sweep makes good what they may hold
            del self._missed[next(iter(self._missed))]
        return [w.ring for w in wakes]

    def _absent(self, after: int, to: int, present: set[int]) -> dict[int, float]:
        now = self._clock()
        return {i: now for i in range(max(after, 0) + 1, to) if i not in present}

    def _give_up(self) -> None:
        oldest = self._clock() - MISSED_SECONDS
        for wake_id in [i for i, since in self._missed.items() if since < oldest]:
            del self._missed[wake_id]


_LAST = select(func.max(wake.c.wake_id))
_COLUMNS = select(wake.c.wake_id, wake.c.recipient_id, wake.c.project_id, wake.c.head)
_IS_NEWER = wake.c.wake_id > bindparam("last")
_NEWER = Statement(_COLUMNS.where(_IS_NEWER).order_by(wake.c.wake_id).limit(MOST_ROWS))
_NEWER_OR_MISSED = Statement(
    _COLUMNS.where(or_(_IS_NEWER, wake.c.wake_id.in_(bindparam("missed", expanding=True))))
    .order_by(wake.c.wake_id)
    .limit(MOST_ROWS)
)

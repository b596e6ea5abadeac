"""Rings that every tailer has read are deleted, by id: their age is remembered, not written."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from restante.storage.tables.signals import wake

KEPT_SECONDS = 60.0
ROWS = 5_000


class RingPruner:
    """Remembers how far the table went when, and deletes what is a minute old."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._marks: deque[tuple[float, int]] = deque()
        self._old = 0

    def run(self, session: Session) -> int:
        """Delete a batch; returns how many rows went."""
        connection = session.connection()
        lowest, highest = connection.execute(_ENDS).one()
        if highest is None:
            return 0
        now = self._clock()
        if not self._marks or self._marks[-1][1] < highest:
            self._marks.append((now, highest))
        while self._marks and self._marks[0][0] + KEPT_SECONDS <= now:
            self._old = self._marks.popleft()[1]
        until = min(self._old, lowest + ROWS - 1)
        if until < lowest:
            return 0
        return connection.execute(delete(wake).where(wake.c.wake_id <= until)).rowcount


_ENDS = select(func.min(wake.c.wake_id), func.max(wake.c.wake_id))

"""Builds that are broken on purpose: a server that starts with this folder in its path has one thing spoilt.

CHAOS_BROKEN names which. The module that holds it is changed as it is imported, so that nothing is
imported before the server wants it. And where the clock is off, what its library breaks is mended.
"""

from __future__ import annotations

import importlib.util
import os
import select
import sys
import time
from types import ModuleType
from typing import Any

WINDOW_SECONDS = 0.3
"""How long the broken step stands open."""


def no_fence(lifecycle: Any) -> None:
    """Whoever names an event settles it."""
    lifecycle.fence = lambda *_: None


def commit_before_event(publish: Any) -> None:
    """The call commits, its key with it; its events are written in a transaction after that."""
    write = publish.write

    def write_afterwards(session: Any) -> None:
        recorded = session.info.pop(publish._RECORDED, None)
        engine, info = session._engine, {**session.info, publish._RECORDED: recorded}

        def second() -> None:
            time.sleep(WINDOW_SECONDS)
            another = type(session)(engine, info)
            try:
                write(another)
                another.commit()
            finally:
                another.close()

        session.info.setdefault("restante.tx.after_commit", []).append(second)

    publish.write = write_afterwards


def blind_scavenger(timers: Any) -> None:
    """What was due when it looked is ended, whatever has become of it since."""
    lock_due = timers._lock_due

    class AsItWas:
        def __init__(self, row: Any, due_at: Any) -> None:
            self._row, self.due_at = row, due_at

        def __getattr__(self, name: str) -> Any:
            return getattr(self._row, name)

    def blind(session: Any, recipient_id: bytes, numbers: Any) -> list[Any]:
        time.sleep(WINDOW_SECONDS)
        then = timers.datetime(1970, 1, 1)
        return [AsItWas(row, then) for row in lock_due(session, recipient_id, numbers)]

    timers._lock_due = blind


def late_floor(retention: Any) -> None:
    """The rows go first, and the floor is raised after that."""

    def eat(self: Any, recipient_id: bytes) -> int:
        from sqlalchemy import select, update  # noqa: PLC0415 - not before the server wants it

        from restante.storage.tables.inboxes import inbox  # noqa: PLC0415 - likewise

        of_it = inbox.c.recipient_id == recipient_id

        def purge(session: Any) -> tuple[int | None, int]:
            held = select(inbox.c.oldest_cursor).where(of_it)
            was = session.connection().execute(held).scalar_one()
            floor = retention.raise_floor(session, recipient_id)
            moved = retention.archive(session, recipient_id)
            session.connection().execute(update(inbox).where(of_it).values(oldest_cursor=was))
            return floor, moved

        def raise_late(session: Any) -> None:
            session.connection().execute(update(inbox).where(of_it).values(oldest_cursor=floor))

        floor, moved = self._database.run(purge)
        if floor is not None:
            time.sleep(WINDOW_SECONDS)
            self._database.run(raise_late)
        return int(moved)

    retention.Retention._eat = eat


BROKEN = {
    "no_fence": ("restante.inbox.lifecycle", no_fence),
    "commit_before_event": ("restante.inbox.publish", commit_before_event),
    "blind_scavenger": ("restante.inbox.timers", blind_scavenger),
    "late_floor": ("workers.retention", late_floor),
}


class Spoiler:
    """Finds the one module, and has it changed once it is loaded."""

    def __init__(self, name: str) -> None:
        self._module, self._spoil = BROKEN[name]

    def find_spec(self, name: str, path: object = None, target: ModuleType | None = None) -> Any:
        if name != self._module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        assert spec is not None
        loader: Any = spec.loader
        load = loader.exec_module

        def load_and_spoil(module: ModuleType) -> None:
            load(module)
            self._spoil(module)

        loader.exec_module = load_and_spoil
        return spec


def sleep(seconds: float) -> None:
    """Python's own is until an instant of the monotonic clock, which libfaketime refuses (EINVAL)."""
    select.select((), (), (), seconds)


if "FAKETIME" in os.environ:
    time.sleep = sleep
if wanted := os.environ.get("CHAOS_BROKEN"):
    sys.meta_path.insert(0, Spoiler(wanted))

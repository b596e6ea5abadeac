"""SIGTERM and SIGINT as an orderly stop, for as long as a run lasts."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from types import FrameType


@contextmanager
def stop_signals(stop: Callable[[], None], *, wanted: bool) -> Iterator[None]:
    """Call `stop` for each signal; in the main thread only, elsewhere Python allows none."""
    if not wanted or current_thread() is not main_thread():
        yield
        return

    def received(number: int, frame: FrameType | None) -> None:
        # In a thread of its own: the one interrupted may hold the lock that stop() needs.
        Thread(target=stop, daemon=True).start()

    before = {n: signal.signal(n, received) for n in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""What a process knows of the database, at most half a second old, and of so many things at most."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

STATE_SECONDS = 0.5
"""So old may be what a call goes by: what is withdrawn ends within one second."""

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The most recently used values, at most so many. A lock per call: threads and greenlets share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The value, used just now."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Keep it; the one longest unused goes where there are too many."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            if len(self._values) > self._most:
                self._values.popitem(last=False)


@dataclass(frozen=True, slots=True)
class Held(Generic[V]):
    """A value as old as the question: asked at a moment, after so many expiries."""

    value: V
    asked_at: float
    expiries: int


@dataclass(slots=True)
class Cell(Generic[V]):
    """A value that one caller at a time renews, while the others wait for it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    held: Held[V] | None = None
    expiries: int = 0

    def found(self, now: float) -> Held[V] | None:
        """What is held, if it may still be gone by."""
        held = self.held
        if held is None or now - held.asked_at >= STATE_SECONDS or held.expiries < self.expiries:
            return None
        return held

    def fresh(self, now: Callable[[], float], load: Callable[[], V]) -> V:
        """The value; loaded, where what is held is too old. `now`: a monotonic clock, in seconds."""
        held = self.found(now())
        if held is not None:
            return held.value
        with self.lock:
            held = self.found(now())
            if held is None:
                asked_at, expiries = now(), self.expiries
                self.held = held = Held(load(), asked_at, expiries)
            return held.value

    def expire(self) -> None:
        """Something newer is known of: what is held, or being asked for now, is too old."""
        self.expiries += 1

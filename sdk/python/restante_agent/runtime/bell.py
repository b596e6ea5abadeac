"""Stands in for the threads' condition in a runner that lives in one event loop."""

from __future__ import annotations

from typing import Self

import anyio


class Bell:
    """In one event loop nothing runs between two awaits, so holding it means nothing."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def notify_all(self) -> None:
        self._event.set()
        self._event = anyio.Event()

    async def wait(self, seconds: float | None) -> None:
        """Until it is rung, or the time is over (None: no limit)."""
        with anyio.move_on_after(seconds):
            await self._event.wait()

"""A lock between processes, and between the objects of one: a locked file, which is never removed."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from threading import Lock

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class ProcessLock:
    """Let go by `release`, or by the end of the process, however that comes."""

    def __init__(self, path: Path) -> None:
        self._path, self._mine = path, Lock()
        self._handle = -1

    def try_acquire(self) -> bool:
        """Take it unless somebody has it. Does not wait."""
        if not self._mine.acquire(blocking=False):
            return False
        handle = -1
        try:
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            handle = os.open(self._path, flags, 0o600)
            _take(handle)
        except BaseException as error:
            if handle >= 0:
                os.close(handle)
            self._mine.release()
            if handle >= 0 and isinstance(error, BlockingIOError | PermissionError):
                return False
            raise
        self._handle = handle
        return True

    def release(self) -> None:
        os.close(self._handle)  # lets the lock go
        self._handle = -1
        self._mine.release()

"""Processes that tests start: each is ended by the pid that started it, and does not outlive its test run."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

PR_SET_PDEATHSIG = 1  # prctl(2)


def die_with_parent(parent: int | None = None) -> Callable[[], None] | None:
    """What a child of this process (or of `parent`) runs first, so that the kernel ends it with its parent.

    Without it a test run killed by SIGKILL would leave database servers behind. To the kernel the
    parent is the thread: start what is to last from one that lasts. None where there is no prctl.
    """
    if not sys.platform.startswith("linux"):
        return None
    libc = ctypes.CDLL(
        None, use_errno=True
    )  # loaded before the fork: nothing may be imported after it
    parent = parent or os.getpid()

    def tie() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the call
            os._exit(1)

    return tie


class Program(Protocol):
    """What is used here of `subprocess.Popen`."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def send_signal(self, number: int, /) -> None: ...

    def terminate(self) -> None: ...

    def kill(self) -> None: ...


class Process:
    """A running program whose output goes to a file."""

    popen: Program

    def __init__(
        self,
        argv: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        tied: bool = True,
    ) -> None:
        """Start it; `tied` means that it ends with this process."""
        self.log = log
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as sink:
            self.popen = subprocess.Popen(
                [str(part) for part in argv],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env=None if env is None else dict(env),
                cwd=cwd,
                start_new_session=True,  # a Ctrl-C is for the test run, which ends it in order
                preexec_fn=die_with_parent() if tied else None,
            )

    @property
    def pid(self) -> int:
        return self.popen.pid

    def is_running(self) -> bool:
        return self.popen.poll() is None

    def signal(self, number: signal.Signals) -> None:
        self.popen.send_signal(number)

    def stop(self, *, timeout_seconds: float = 60.0) -> int:
        """Send SIGTERM and wait; SIGKILL when the time is over. Return the exit code."""
        if self.is_running():
            self.popen.terminate()
            try:
                return self.popen.wait(timeout_seconds)
            except subprocess.TimeoutExpired:
                self.popen.kill()
        return self.popen.wait()

    def kill(self) -> None:
        """SIGKILL: a crash."""
        self.popen.kill()
        self.popen.wait()

    def kill_group(self) -> None:
        """SIGKILL to the process and all of its children (it leads a group of its own)."""
        if self.is_running():
            os.killpg(self.pid, signal.SIGKILL)
        self.popen.wait()

    def tail(self, lines: int = 30) -> str:
        """The last lines of its output."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])

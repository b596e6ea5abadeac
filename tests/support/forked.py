"""`restante …` as a fork of a process that has imported the program: the same work without the start.

A fresh interpreter takes a second of processor time to import what a command stands on, and the
suite runs hundreds of them. `restante serve` goes on to become a fresh interpreter in any case.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path

from tests.support.processes import die_with_parent


class Forked:
    """A running command, with what `subprocess.Popen` tells and does."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        stdout: Path,
        stderr: Path,
    ) -> None:
        self.args = ["restante", *words]
        self._process = _warm().Process(
            target=_become, args=(self.args, dict(env), str(cwd), stdout, stderr)
        )
        self._process.start()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(
    words: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_seconds: float
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` returns of `restante` with these words; TimeoutExpired as there."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "stdout"), Path(folder, "stderr")
        out.touch()
        err.touch()
        process = Forked(words, env=env, cwd=cwd, stdout=out, stderr=err)
        try:
            code = process.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        return subprocess.CompletedProcess(process.args, code, out.read_text(), err.read_text())


@cache
def _warm() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["commands"])
    return context


def _become(argv: list[str], env: dict[str, str], cwd: str, out: Path, err: Path) -> None:
    """In the fork: be that command, as a session of its own that ends with who started it."""
    from commands import main  # noqa: PLC0415 - the test process has no use for it

    os.setsid()
    if tie := die_with_parent(os.getppid()):
        tie()
    # among them one end of a pipe that keeps what forked us alive, and so us, when the test process is gone
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = argv
    for number, opened in enumerate((_read(os.devnull), _append(out), _append(err))):
        os.dup2(opened, number)
        os.close(opened)
    main(prog_name=argv[0])


def _read(path: str) -> int:
    return os.open(path, os.O_RDONLY)


def _append(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

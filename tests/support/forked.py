"""`restante …` as a fork of a process that has imported the program: the same work without the start.

A fresh interpreter takes one or two seconds of processor time to import what the program stands on,
and the suite starts hundreds. What `restante serve` becomes stands on gevent: it has another template.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock

ROOT = Path(__file__).resolve().parents[2]


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
        self.returncode: int | None = None
        self._reading = Lock()
        files = {"cwd": str(cwd), "stdout": str(stdout), "stderr": str(stderr)}
        asked = {"argv": self.args, "env": dict(env), **files}
        self._told, told = os.pipe()
        weakref.finalize(self, os.close, self._told)
        try:
            template = _template("serve" if words[:1] == ["serve"] else "")
            socket.send_fds(template, [json.dumps(asked).encode()], [told])
        finally:
            os.close(told)
        self.pid = int.from_bytes(os.read(self._told, 4), "little")
        assert self.pid, "the template has ended"

    def poll(self) -> int | None:
        self._has_ended(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _has_ended(self, timeout: float | None) -> bool:
        """Wait for its exit code."""
        waiting = select.poll()
        waiting.register(self._told, select.POLLIN)
        if not waiting.poll(None if timeout is None else timeout * 1_000):
            return False
        with self._reading:
            if self.returncode is None:
                # nothing comes where the template was killed, and all that it had forked
                code = os.read(self._told, 4) or (-signal.SIGKILL).to_bytes(
                    4, "little", signed=True
                )
                self.returncode = int.from_bytes(code, "little", signed=True)
        return True


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
def _template(kind: str) -> socket.socket:
    """The line to a template of this test process; it ends with the line."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with its:
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.template", str(its.fileno()), *kind.split()],
            stdin=subprocess.DEVNULL,
            cwd=ROOT,
            pass_fds=[its.fileno()],
            start_new_session=True,
        )
    return ours

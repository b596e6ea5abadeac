"""Starts a bare Flask application under gunicorn, as the product's web workers are started."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.serving import ROOT
from tests.support.waiting import wait_until


class BareFlask:
    """`name`: the module and its application, as gunicorn names them. Two gevent workers."""

    def __init__(
        self, name: str, log: Path, *, settings: Mapping[str, str], port: int | None = None
    ) -> None:
        self._name, self._log, self._settings = name, log, settings
        self.port = port or free_port()
        self.process = self._start()

    def _start(self) -> Process:
        bind = f"127.0.0.1:{self.port}"
        process = Process(
            [
                *(sys.executable, "-m", "gunicorn", self._name, "--bind", bind),
                *("--worker-class", "gevent", "--workers", "2", "--worker-connections", "12000"),
                *("--keep-alive", "20", "--log-level", "warning", "--no-control-socket"),
            ],
            log=self._log,
            env={**os.environ, **self._settings},
            cwd=ROOT,
        )
        wait_until(self._listens, "the bare Flask", timeout_seconds=30)
        return process

    def restart(self) -> None:
        """Kill it, and start it again on the same port."""
        self.process.kill_group()
        wait_until(lambda: not self._listens(), "the end of the bare Flask's workers")
        self.process = self._start()

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """End it."""
        self.process.stop()

"""What `restante …` of tests is forked from: `python -m tests.support.template FD [serve]`.

A message on the socket FD is JSON `{argv, env, cwd, stdout, stderr}` with the end of a pipe, on which
the number of the process and then its exit code are told, four bytes each. It ends with the socket.
"""

# ruff: noqa: E402 - gevent patches before anything else is imported
from __future__ import annotations

import sys

SERVES = sys.argv[2:] == ["serve"]

# the system's own, whatever gevent makes of these names
from os import fork, waitpid
from signal import SIG_DFL, SIG_IGN, SIGCHLD, signal
from socket import recv_fds, socket

if SERVES:
    from gevent import monkey

    monkey.patch_all()

import gc
import importlib
import json
import logging
import os
import runpy
import shutil
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.processes import die_with_parent

MOST_BYTES = 1 << 20
PROGRAM = ("commands",)
SERVING = ("gunicorn.arbiter", "gunicorn.glogging", "app", "workers.runtime", "workers.worker")
"""What `workers.serving` imports; itself it reads the settings at once."""


def imported(modules: Sequence[str]) -> None:
    """Import the program. Its figures are in files of each process; those of this one nobody reads."""
    folder = tempfile.mkdtemp(prefix="restante-template-")
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    for module in modules:
        importlib.import_module(module)
    shutil.rmtree(folder)
    gc.collect()
    gc.freeze()


def fork_for_each(line: socket) -> None:
    """Until the test process is gone."""
    signal(SIGCHLD, SIG_IGN)
    tie = die_with_parent()
    while True:
        text, received, _, _ = recv_fds(line, MOST_BYTES, 1)
        if not text:
            return
        (told,) = received
        if fork() == 0:
            line.close()
            if tie:
                tie()
            _watch(json.loads(text), told)
        os.close(told)


def _watch(asked: dict[str, Any], told: int) -> None:
    """In the first fork: have the program run and tell its end, as a parent alone can."""
    signal(SIGCHLD, SIG_DFL)
    tie = die_with_parent()
    pid = fork()
    if pid == 0:
        if tie:
            tie()
        os.close(told)
        os._exit(_become(**asked))
    os.write(told, pid.to_bytes(4, "little"))
    _, status = waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    os.write(told, code.to_bytes(4, "little", signed=True))
    os._exit(0)


def _become(argv: list[str], env: dict[str, str], cwd: str, stdout: str, stderr: str) -> int:
    """In the second: be that command, as a session of its own; its exit code."""
    os.setsid()
    opened = (
        os.open(os.devnull, os.O_RDONLY),
        *(os.open(p, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for p in (stdout, stderr)),
    )
    for number, descriptor in enumerate(opened):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = argv
    code = 1
    try:
        if SERVES:
            os.execve = _go_on  # type: ignore[assignment]  # it returns
        importlib.import_module("commands").main(prog_name=argv[0])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - told and ended, as an interpreter does
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def _go_on(_program: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
    """Instead of a fresh interpreter for `python -m workers.serving`: this one is as fresh."""
    _, _, module, *options = argv
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [module, *options]
    logging.getLogger().handlers.clear()
    runpy.run_module(module, run_name="__main__")


if __name__ == "__main__":
    imported((*PROGRAM, *SERVING) if SERVES else PROGRAM)
    fork_for_each(socket(fileno=int(sys.argv[1])))
    os._exit(0)

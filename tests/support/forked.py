"""`restante …` as a fork of a process that has imported the program: the same work without the start.

A fresh interpreter takes a second of processor time to import what a command stands on, and the
suite runs hundreds of them. The installed program is what every `restante serve` of the suite is,
and what tests/acceptance/test_commands.py runs.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path


def run(
    words: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_seconds: float
) -> subprocess.CompletedProcess[str]:
    """What `subprocess.run` returns of `restante` with these words; TimeoutExpired as there."""
    argv = ["restante", *words]
    with tempfile.TemporaryDirectory() as folder:
        written = [Path(folder, name) for name in ("stdout", "stderr")]
        process = _warm().Process(target=_become, args=(argv, dict(env), str(cwd), *written))
        process.start()
        process.join(timeout_seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(argv, timeout_seconds)
        texts = [file.read_text() if file.exists() else "" for file in written]
    return subprocess.CompletedProcess(argv, process.exitcode, *texts)


@cache
def _warm() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["commands"])
    return context


def _become(argv: list[str], env: dict[str, str], cwd: str, out: Path, err: Path) -> None:
    """In the fork: be that command."""
    from commands import main  # noqa: PLC0415 - the test process has no use for it

    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = argv
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, opened in enumerate((nothing, _opened(out), _opened(err))):
        os.dup2(opened, number)
    main(prog_name=argv[0])


def _opened(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

"""A database server that this machine cannot have, and why."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")


class Unavailable(Exception):
    """The server's programs cannot be had here; the text says why."""


def run(argv: Sequence[str | Path], *, failing: str, env: Mapping[str, str] | None = None) -> str:
    """A command's output; raise Unavailable with `failing` and the command's last words if it fails."""
    try:
        done = subprocess.run(
            [str(part) for part in argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            env=None if env is None else dict(env),
        )
    except FileNotFoundError as error:
        raise Unavailable(f"{failing}: {argv[0]} is not on this machine") from error
    if done.returncode:
        words = " / ".join(done.stdout.strip().splitlines()[-4:])
        raise Unavailable(f"{failing} (exit {done.returncode}): {words}")
    return done.stdout


def had(make: Callable[[], T]) -> T:
    """What is made; where it cannot be had here, the test is left out and says why; with CI set it fails."""
    try:
        return make()
    except Unavailable as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"left out: {error}")

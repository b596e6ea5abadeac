"""From the text of `--exec` to what is run, and what a child inherits."""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import signal
import sys
from collections.abc import Callable, Mapping
from functools import cache

from restante_agent.errors import ConfigurationError
from restante_agent.login.sealing import VARIABLE

# Outside single quotes these mean something to a shell.
_SHELL = re.compile(r"[|&;<>()$`\n*?\[~#]")
_SINGLE_QUOTED = re.compile(r"'[^']*'")
_SECRETS = ("RESTANTE_CLIENT_SECRET", VARIABLE)
_PR_SET_PDEATHSIG = 1  # prctl(2)


def argv_of(command: str) -> list[str]:
    """Words run directly, or a shell if the command needs one (pipes, redirections, variables)."""
    if _SHELL.search(_SINGLE_QUOTED.sub("", command)):
        return ["/bin/sh", "-c", command]
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ConfigurationError(f"--exec: {error}") from error
    if not words:
        raise ConfigurationError("--exec: the command is empty")
    return words


def inherited(environ: Mapping[str, str], *, with_secret: bool) -> dict[str, str]:
    """The environment without secrets: a handler works on what others wrote."""
    return {name: value for name, value in environ.items() if with_secret or name not in _SECRETS}


@cache
def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform.startswith("linux") else None


def end_with_parent() -> Callable[[], None] | None:
    """What a child runs first, so that it does not outlive a listener that is killed.

    The event would be worked anew elsewhere while the orphan still works. Linux only; to the
    kernel the parent is the thread that starts the child, here a worker that lasts as long as it.
    """
    libc = _libc()
    if libc is None:
        return None
    parent = os.getpid()

    def tie() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it ended before the call
            os._exit(128 + signal.SIGTERM)

    return tie

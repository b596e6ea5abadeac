"""A small disk for a run's database, so that it can be full: a file system in memory, of the run alone.

A mount needs a namespace of its own, which `unshare` gives to root, and to others where the kernel
lets users have one. It goes with the run, whatever ends that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.support.unavailable import run

MIB = 1024 * 1024
SMALL_MIB = 1_024
"""A new server takes a few hundred."""
MARK = "RESTANTE_CHAOS_MOUNTS"


def begin_again_with_mounts() -> None:
    """Be this very program in a namespace in which it may mount; Unavailable where that is not given."""
    if os.environ.get(MARK):
        return
    unshare = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]
    run([*unshare, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], failing="a file system of its own")
    sys.stdout.flush()
    # -P and -m, as it was begun
    argv = [*unshare, sys.executable, *sys.orig_argv[1:]]
    os.execvpe(argv[0], argv, {**os.environ, MARK: "1"})  # noqa: S606 - this very program


@contextmanager
def small(folder: Path) -> Iterator[None]:
    """An empty file system of SMALL_MIB at this folder."""
    folder.mkdir(parents=True)
    options = f"size={SMALL_MIB}m,mode=700"
    run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], failing="a small disk")
    try:
        yield
    finally:
        run(["umount", "--lazy", folder], failing="a small disk")


@contextmanager
def filled(folder: Path) -> Iterator[None]:
    """Not a byte is left on the folder's disk; all that was left, afterwards."""
    ballast = folder / "ballast"
    try:
        with ballast.open("wb", buffering=0) as file:
            block = bytes(MIB)
            for size in (MIB, 4096):
                with suppress(OSError):  # it is full
                    while file.write(block[:size]) == size:
                        pass
        yield
    finally:
        ballast.unlink(missing_ok=True)

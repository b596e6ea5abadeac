"""The run folder: what the processes of one host that share a database meet in.

Sockets of rings, figures for /metrics, the lock of the maintenance. Nothing in it is worth keeping.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import tempfile
from pathlib import Path

from restante.storage.address import parse_address

LONGEST = 80
"""Bytes of the folder's path: that of a socket in it may have 107."""


class RunFolderRefused(Exception):
    """The run folder cannot be made, or belongs to somebody else."""


def run_folder(database_url: str) -> Path:
    """The folder (0700) for this user and database; made where there is none.

    It is named after the database without its password, under XDG_RUNTIME_DIR or, where that is too
    deep for the path of a socket, the folder for temporary files. Raises RunFolderRefused.
    """
    name = parse_address(database_url).name
    digest = hashlib.sha256(name.encode()).hexdigest()[:12]
    bases = filter(None, (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"))  # noqa: S108 - checked below
    folders = (Path(base) / f"restante-{os.geteuid()}-{digest}" for base in bases)
    folder = next(f for f in folders if len(os.fsencode(f)) <= LONGEST)
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise RunFolderRefused(
            f"{folder} cannot be made ({error.strerror}): set XDG_RUNTIME_DIR to a private folder."
        ) from None
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise RunFolderRefused(
            f"{folder} must be a folder of this user that nobody else can enter: remove it, "
            "or set XDG_RUNTIME_DIR to a private folder."
        )
    return folder


def metrics_folder(folder: Path) -> Path:
    """Where processes keep their figures (PROMETHEUS_MULTIPROC_DIR)."""
    figures = folder / "metrics"
    figures.mkdir(mode=0o700, exist_ok=True)
    return figures


class HostLock:
    """One process of the host at a time; the kernel frees it with its holder."""

    def __init__(self, file: Path) -> None:
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def take(self) -> bool:
        """Whether it is ours now."""
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def free(self) -> None:
        """Leave it to others."""
        os.close(self._descriptor)

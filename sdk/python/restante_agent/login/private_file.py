"""Files that nobody else may read, replaced whole."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from restante_agent.errors import ConfigurationError

_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a FIFO in its place is refused, not waited for
_BINARY = getattr(os, "O_BINARY", 0)
_POSIX = (
    os.name == "posix"
)  # elsewhere it is the folder of the user's profile that keeps others out


def make_folder(folder: Path) -> None:
    """A folder for private files, mode 0700; ConfigurationError for one that others may change."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not _POSIX:
        return
    known = folder.stat()
    if known.st_uid != os.geteuid() or known.st_mode & 0o022:
        raise ConfigurationError(
            f"{folder} can be changed by others, so no login is kept there: make it yours, with"
            f" `chmod 700 {folder}`, or choose another with --state-dir"
        )


def read_private(path: Path) -> bytes | None:
    """The file's content; None where there is none. ConfigurationError where it is not private."""
    if path.is_symlink():
        raise ConfigurationError(f"{path} is a link: what is kept there is a file of its own")
    try:
        handle = os.open(path, os.O_RDONLY | _NO_LINK | _NO_WAIT | _BINARY)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        known = os.fstat(handle)
        if not stat.S_ISREG(known.st_mode):
            raise ConfigurationError(f"{path} is no file")
        if _POSIX and (known.st_uid != os.geteuid() or known.st_mode & 0o077):
            raise ConfigurationError(
                f"{path} can be read by others, so it is not used: `chmod 600 {path}`, and unless it"
                " was you who allowed that log out and in again, for they may have used it"
            )
        return file.read()


def write_private(path: Path, content: bytes) -> None:
    """Put it in place of what is there, or leave that as it is. It is on the disk when this returns.

    One writer at a time is the caller's to see to.
    """
    new = path.with_name(path.name + ".new")
    new.unlink(missing_ok=True)
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | _BINARY, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(handle)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def remove_private(path: Path) -> None:
    path.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    if not _POSIX:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

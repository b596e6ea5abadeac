"""The instance folder: what one installation keeps beside its database, readable by its user alone."""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from pathlib import Path

from restante.errors import RestanteError

SECRET_FILE = "secret.key"
ORPHANS_SECONDS = 10


class InstanceRefused(RestanteError):
    """The instance folder cannot be used."""


def make_folder(folder: Path) -> Path:
    """Have the folder, closed to other users."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def make_database_file(file: Path) -> None:
    """Have an SQLite file that its owner alone can read (0600), as SQLite's own beside it then are.

    One that is there is left as it is. Raises InstanceRefused where none can be made.
    """
    try:
        make_folder(file.parent)
        os.close(os.open(file, os.O_RDONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise InstanceRefused(f"{file} cannot be opened: {error.strerror}.") from None


def kept_secret(folder: Path) -> str:
    """The secret key kept in the folder (0600), made at first need.

    Of several processes that need it first at once, all get the same.
    """
    file = make_folder(folder) / SECRET_FILE
    if not file.exists():
        draft = _draft(file, secrets.token_urlsafe(48) + "\n")
        try:
            os.link(draft, file)  # fails where another process was first
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    if file.stat().st_mode & 0o077:
        raise InstanceRefused(
            f"{file} can be read by others: chmod 600 it, or replace the key it holds."
        )
    return file.read_text().strip()


def write_private(file: Path, content: str) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    make_folder(file.parent)
    _draft(file, content).replace(file)


def _draft(file: Path, content: str) -> Path:
    """A new file (0600) beside the one that it is to become, on disk."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as sink:
        sink.write(content)
        sink.flush()
        os.fsync(sink.fileno())
    return draft


def lock_for_serving(database_file: Path) -> int:
    """Hold an SQLite database for one `serve`: a descriptor that holds it until the process ends.

    Raises InstanceRefused, naming the process, where another holds it. Workers of a `serve` that was
    killed hold it until they notice: those are waited for.
    """
    file = database_file.with_name(f"{database_file.name}.serve-lock")
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
    end = time.monotonic() + ORPHANS_SECONDS
    while (
        not (held := _lock(descriptor)) and _is_gone(_holder(descriptor)) and time.monotonic() < end
    ):
        time.sleep(0.1)
    if not held:
        holder = _holder(descriptor)
        os.close(descriptor)
        raise InstanceRefused(
            f"Another `restante serve` (process {holder}) holds {file}: SQLite is served by one process. "
            "Stop that one first, or use MySQL or MariaDB for several."
        )
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    os.set_inheritable(descriptor, True)
    return descriptor


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> str:
    """The process that took the lock, as it wrote itself down."""
    return os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"


def _is_gone(process: str) -> bool:
    if not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False

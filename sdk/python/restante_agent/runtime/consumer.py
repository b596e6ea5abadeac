"""The name under which a process holds its leases: the same after a restart, never shared.

So a process that was killed finds, when it comes back, what its forerunner held.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from restante_agent.errors import ConfigurationError

try:
    import fcntl
except ImportError:  # no file locks of this kind: names are fresh for every process
    fcntl = None  # type: ignore[assignment]  # a module otherwise

SLOTS = 256


@contextmanager
def consumer_name(directory: Path, wanted: str | None = None) -> Iterator[str]:
    """A consumer name held by this process alone, for as long as the block lasts.

    `wanted` must be free (ConfigurationError if another process here uses it); without it the
    name is made of the host, the state directory's own id and the first free slot.
    """
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    if fcntl is None:
        yield wanted or f"{_host()}-{secrets.token_hex(6)}"
        return
    if wanted is not None:
        digest = hashlib.sha256(wanted.encode()).hexdigest()[:16]
        handle = _lock(directory / f"consumer-{digest}.lock")
        if handle is None:
            raise ConfigurationError(
                f"another process here is already the consumer {wanted!r}; choose another name"
            )
        name = wanted
    else:
        installation = _installation(directory)
        for slot in range(SLOTS):
            handle = _lock(directory / f"slot-{slot}.lock")
            if handle is not None:
                break
        else:
            raise ConfigurationError(f"{SLOTS} consumers of this agent run here already")
        name = f"{_host()}-{installation}-{slot}"
    try:
        yield name
    finally:
        os.close(handle)


def _lock(path: Path) -> int | None:
    # Not inherited by handlers' processes: a child that lives on must not keep the name.
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _installation(directory: Path) -> str:
    """Six random digits kept in the directory: hosts in containers often share a name."""
    path = directory / "installation"
    if not path.exists():
        # Linked into place whole: a second process must not read it half written.
        draft = directory / f"installation.{secrets.token_hex(6)}"
        draft.write_text(secrets.token_hex(3))
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    return path.read_text().strip()


def _host() -> str:
    name = "".join(c for c in socket.gethostname() if c.isalnum() or c in "-_.")
    return name[:40] or "host"

"""Whose process has opened a connection on loopback, as Linux tells of processes of one's own user."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

SOCKETS = Path("/proc/net/tcp")


def opened_by(pid: int) -> Callable[[int], bool]:
    """Tells of a port at this machine's end of a connection whether it is that process's."""
    return lambda port: bool(_inodes(port) & _open_in(pid))


def _inodes(port: int) -> set[str]:
    """Of the sockets that have the port at their own end (proc(5))."""
    lines = (line.split() for line in SOCKETS.read_text().splitlines()[1:])
    return {words[9] for words in lines if words[1].endswith(f":{port:04X}")}


def _open_in(pid: int) -> set[str]:
    """Inodes of all sockets that the process has open; none once it has ended."""
    found = set()
    with suppress(FileNotFoundError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                found.add(str(entry.readlink()).removeprefix("socket:[").rstrip("]"))
    return found

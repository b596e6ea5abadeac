"""Hosts whose clocks are hours off: libfaketime in front of the C library of web workers and maintenance.

The clock that lengths are measured by (monotonic) stays as it is, as it would on such a host.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from tests.support import debian
from tests.support.unavailable import Unavailable

MOST_HOURS = 14.0
HOSTS = 3
"""Two web nodes and the maintenance; the database, and who judges the run, have the machine's own."""


def drawn(seed: int) -> list[float]:
    """How many hours each host is ahead (or behind, below zero)."""
    draw = random.Random(f"{seed} clocks")
    return [round(draw.choice((-1, 1)) * draw.uniform(1, MOST_HOURS), 2) for _ in range(HOSTS)]


def off_by(hours: float) -> dict[str, str]:
    """What a process has in its environment so that its clock is off; Unavailable where it cannot be."""
    return {
        "LD_PRELOAD": str(_library()),
        "FAKETIME": f"{hours * 3600:+.0f}",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_NO_CACHE": "1",
    }


def _library() -> Path:
    """Of the machine's own release: it is loaded into the machine's own programs."""
    told = Path("/etc/os-release").read_text() if Path("/etc/os-release").exists() else ""
    release = re.search(r'^VERSION_CODENAME="?(\w+)', told, re.MULTILINE)
    if release is None:
        raise Unavailable("clocks that are off: libfaketime is taken from Debian's packages")
    root = debian.unpacked("faketime", "libfaketime", suite=release[1])
    found = next(root.glob("usr/lib/*/faketime/libfaketimeMT.so.1"), None)
    if found is None:
        raise Unavailable(f"{root} is damaged: remove it, and it is fetched again")
    return found

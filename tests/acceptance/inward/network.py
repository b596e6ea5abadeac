"""A network namespace in which every address is this machine's own, and a resolver's settings beside it.

Linux only. The namespaces are a user's own and end with their last process; nothing outside is changed.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.unavailable import run

ENTERING = ("unshare", "--user", "--map-root-user", "--net", "--mount", "--")
NAMESERVER = "127.0.0.53"
ALL_LOCAL = (
    ("ip", "link", "set", "lo", "up"),
    ("ip", "route", "add", "local", "0.0.0.0/0", "dev", "lo"),
    ("ip", "-6", "route", "add", "local", "::/0", "dev", "lo"),
)
FILES = {
    "/etc/resolv.conf": f"nameserver {NAMESERVER}\noptions timeout:1 attempts:1\n",
    "/etc/nsswitch.conf": "hosts: files dns\n",
}


def inside(words: Sequence[str | Path]) -> list[str]:
    """The command line that runs a program in there; raises Unavailable where that cannot be had."""
    script = " && ".join(" ".join(one) for one in ALL_LOCAL)
    run([*ENTERING, "sh", "-c", script], failing="a network namespace of our own")
    return [*ENTERING, *map(str, words)]


def settle_in() -> None:
    """Called first by the program that runs in there."""
    for words in ALL_LOCAL:
        subprocess.run(words, check=True)
    folder = Path(tempfile.mkdtemp(prefix="restante-net-"))
    for place, text in FILES.items():
        if not Path(place).exists():
            continue  # a system without it resolves by DNS anyway
        file = folder / Path(place).name
        file.write_text(text)
        subprocess.run(["mount", "--bind", file, place], check=True)

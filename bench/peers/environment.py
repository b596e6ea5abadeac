"""The peers' Python libraries: a virtual environment of the bench's own, beside the tests' programs.

The project's lock knows none of them. What both have is taken from the project's environment, so the
peers' folder comes last in the path.
"""

from __future__ import annotations

import fcntl
import shutil
import sys
import sysconfig
from pathlib import Path

from tests.support.debian import cache
from tests.support.unavailable import run

REQUIREMENTS = Path(__file__).with_name("requirements.txt")


def ensure() -> Path:
    """The environment's folder, made anew where requirements have changed, its libraries importable.

    Raises Unavailable with pip's words.
    """
    folder = cache() / "peers"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two runs at once, the second finds it done
        _make(folder)
    libraries = sysconfig.get_path("purelib", "venv", {"base": str(folder)})
    if libraries not in sys.path:
        sys.path.append(libraries)
    return folder


def _make(folder: Path) -> None:
    kept = folder / "requirements.txt"
    if kept.exists() and kept.read_text() == REQUIREMENTS.read_text():
        return
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", folder], failing="making the peers' environment")
    run(
        [python(folder), "-m", "pip", "install", "--quiet", "--requirement", REQUIREMENTS],
        failing="installing the peers' libraries",
    )
    shutil.copy(REQUIREMENTS, kept)  # last: what was broken off is made again


def python(folder: Path) -> Path:
    """Its interpreter."""
    return folder / "bin" / "python"

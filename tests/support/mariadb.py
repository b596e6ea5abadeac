"""MariaDB of the machine's own distribution."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.support.unavailable import Unavailable, run

# the core packages alone: mariadb-server would start a service as well
PACKAGES = ("mariadb-server-core", "mariadb-client-core")
PROGRAMS = ("mariadbd", "mariadb-install-db")


def program(name: str) -> Path | None:
    """Where a program lies; servers are often in a folder that is not on a user's PATH."""
    found = shutil.which(
        name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/bin:/usr/local/sbin"
    )
    return Path(found) if found else None


def ensure() -> None:
    """Have MariaDB on the machine, installing it if this is root on a Debian-like system."""
    if all(program(name) for name in PROGRAMS):
        return
    if os.geteuid():
        raise Unavailable(
            f"MariaDB is not installed (as root: apt-get install {' '.join(PACKAGES)})"
        )
    if not shutil.which("apt-get"):
        raise Unavailable("MariaDB is not installed, and there is no apt-get to install it with")
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "-q", "update"], failing="reading the package lists", env=quiet)
    run(
        ["apt-get", "-q", "-y", "install", "--no-install-recommends", *PACKAGES],
        failing="installing MariaDB",
        env=quiet,
    )


def server_command() -> list[str]:
    """The start of the server's command line."""
    return [str(program("mariadbd")), "--no-defaults"]


def initialise(data: Path) -> None:
    """Fill a new data folder: root without a password, from this machine alone."""
    scratch = data.parent / "tmp"  # in a shared folder another one's start removes its tables
    scratch.mkdir(exist_ok=True)
    run(
        [
            str(program("mariadb-install-db")),
            "--no-defaults",
            f"--datadir={data}",
            f"--tmpdir={scratch}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            *([] if os.geteuid() else ["--user=root"]),
        ],
        failing="making MariaDB's data folder",
    )


def relaxed_options() -> list[str]:
    """Faster, and a crash of the machine may lose commits; locks and isolation are untouched."""
    return ["--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0"]

"""Real MySQL 9: Debian sid's packages, unpacked into a cache and never installed.

Debian stable has MariaDB only, and MariaDB takes SQL that MySQL refuses.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path

from tests.support import debian
from tests.support.debian import cache
from tests.support.unavailable import Unavailable, run


def root() -> Path:
    """The unpacked packages; the folder exists only once they are complete."""
    return cache() / "mysql"


def ensure() -> None:
    """Have MySQL's programs in the cache."""
    debian.unpacked("mysql", "mysql-server-core", suite="sid")


def server_command() -> list[str]:
    """The start of the server's command line, through the loader that belongs to its C library."""
    loader = next(root().glob("usr/lib/*/ld-linux*.so.*"), None)
    server = next(root().glob("usr/*bin/mysqld"), None)
    if not loader or not server:
        raise Unavailable(f"{root()} is damaged: remove it, and it is fetched again")
    libraries = f"{loader.parent}:{root()}/usr/lib/mysql/private"
    return [
        *(str(loader), "--library-path", libraries, str(server), "--no-defaults"),
        f"--basedir={root()}/usr",
        f"--plugin-dir={root()}/usr/lib/mysql/plugin",
        f"--lc-messages-dir={root()}/usr/share/mysql",
        f"--character-sets-dir={root()}/usr/share/mysql/charsets",
        "--mysqlx=OFF",
        "--secure-file-priv=NULL",
    ]


def initialise(data: Path) -> None:
    """Fill a new data folder (root without a password) from a copy in the cache: making one takes 5 s."""
    template = cache() / "mysql-data"
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        stale = template.exists() and template.stat().st_mtime < root().stat().st_mtime
        if stale or not template.exists():
            fresh = cache() / "mysql-data.new"
            for folder in (fresh, template):
                shutil.rmtree(folder, ignore_errors=True)
            fresh.mkdir()
            user = [] if os.geteuid() else ["--user=root"]
            run(
                [*server_command(), "--initialize-insecure", *user, f"--datadir={fresh}"],
                failing="making MySQL's data",
            )
            (fresh / "auto.cnf").unlink(
                missing_ok=True
            )  # the server's own identity: each copy gets another
            fresh.rename(template)
        shutil.copytree(template, data, dirs_exist_ok=True)


def relaxed_options() -> list[str]:
    """Faster, and a crash of the machine may lose commits; locks and isolation are untouched."""
    return ["--innodb-flush-log-at-trx-commit=0", "--sync-binlog=0", "--innodb-doublewrite=OFF"]

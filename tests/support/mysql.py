"""Real MySQL 9: Debian sid's packages, unpacked into a cache and never installed.

Debian stable has MariaDB only, and MariaDB takes SQL that MySQL refuses. The programs run with sid's own C
library through sid's loader, so the machine's libraries do not matter; no root is needed. sid moves on, so a
fetch on another day can bring a later release.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.unavailable import Unavailable, run

PACKAGE = "mysql-server-core"
KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# apt with folders of its own, so that it neither sees nor changes the machine's packages. It is read
# after the machine's configuration, whose proxies and credentials stay in force.
APT_SETTINGS = """
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear APT::Default-Release;
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::State::status "{folder}/status";
Dir::State::lists "{folder}/lists";
Dir::Cache "{folder}/cache";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "3";
"""


def cache() -> Path:
    """Where programs fetched for tests are kept between runs."""
    return Path(
        os.environ.get("RESTANTE_TEST_CACHE") or Path.home() / ".cache" / "restante-tests"
    ).absolute()


def root() -> Path:
    """The unpacked packages; the folder exists only once they are complete."""
    return cache() / "mysql"


def mirror() -> str:
    """The address of the Debian archive that this machine's own apt sources name."""
    release = Path("/etc/os-release")
    codename = re.search(
        r'^VERSION_CODENAME="?([^"\n]*)',
        release.read_text() if release.exists() else "",
        re.MULTILINE,
    )
    suites = {"stable", "testing", "unstable", "sid"} | ({codename[1]} if codename else set())
    listing = run(
        [
            "apt-get",
            "indextargets",
            "--no-release-info",
            "--format",
            "$(REPO_URI)|$(RELEASE)|$(COMPONENT)",
            "Created-By: Packages",
        ],
        failing="reading this machine's apt sources",
    )
    rows = [line.split("|") for line in listing.splitlines()]
    found = [uri for uri, suite, component in rows if suite in suites and component == "main"]
    # other vendors have suites of these names too: Debian's own path comes first
    found.sort(key=lambda uri: not urlsplit(uri).path.rstrip("/").endswith("/debian"))
    if not found:
        raise Unavailable(
            "no Debian archive among this machine's apt sources, which MySQL would come from"
        )
    return found[0]


def fetch(folder: Path) -> list[Path]:
    """Download MySQL and everything that it needs, the C library included, into a scratch folder."""
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()  # nothing is installed, as far as this apt knows
    settings = folder / "apt.conf"
    settings.write_text(APT_SETTINGS.format(folder=folder))
    trust = f"[signed-by={KEYS}] " if KEYS.exists() else ""
    (folder / "sources.list").write_text(f"deb {trust}{mirror()} sid main\n")
    apt = ["apt-get", "-q", "-y", "-c", str(settings)]
    run([*apt, "update", "--error-on=any"], failing="reading Debian sid's package list")
    run([*apt, "install", "--download-only", PACKAGE], failing="downloading MySQL")
    return sorted((folder / "cache" / "archives").glob("*.deb"))


def ensure() -> None:
    """Have MySQL's programs in the cache."""
    if root().is_dir():
        return
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two runs at once, the second finds it done
        if root().is_dir():
            return
        for tool in ("apt-get", "dpkg"):
            if not shutil.which(tool):
                raise Unavailable(
                    f"MySQL comes from Debian's packages, and {tool} is not on this machine"
                )
        scratch, unpacked = cache() / "apt", cache() / "mysql.new"
        for folder in (scratch, unpacked):
            shutil.rmtree(folder, ignore_errors=True)
        for package in fetch(scratch):
            run(["dpkg", "-x", package, unpacked], failing=f"unpacking {package.name}")
        shutil.rmtree(scratch)
        unpacked.rename(root())


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

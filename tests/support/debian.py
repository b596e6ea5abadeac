"""Programs from Debian's packages: unpacked into a cache and never installed, so no root is needed.

They run with the C library that came with them, through its loader, so the machine's own does not matter.
A suite moves on, so a fetch on another day can bring a later release.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from tests.support.unavailable import Unavailable, run

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
        raise Unavailable("no Debian archive among this machine's apt sources")
    return found[0]


def fetch(folder: Path, package: str, *, suite: str) -> list[Path]:
    """Download a package and all that it needs, the C library included, into a scratch folder."""
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True)
    (folder / "status").touch()  # nothing is installed, as far as this apt knows
    settings = folder / "apt.conf"
    settings.write_text(APT_SETTINGS.format(folder=folder))
    trust = f"[signed-by={KEYS}] " if KEYS.exists() else ""
    (folder / "sources.list").write_text(f"deb {trust}{mirror()} {suite} main\n")
    apt = ["apt-get", "-q", "-y", "-c", str(settings)]
    run([*apt, "update", "--error-on=any"], failing=f"reading Debian {suite}'s package list")
    run([*apt, "install", "--download-only", package], failing=f"downloading {package}")
    return sorted((folder / "cache" / "archives").glob("*.deb"))


def unpacked(name: str, package: str, *, suite: str) -> Path:
    """The folder `name` of the cache with the package in it; there only once it is complete."""
    kept = cache() / name
    if kept.is_dir():
        return kept
    cache().mkdir(parents=True, exist_ok=True)
    with (cache() / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # of two runs at once, the second finds it done
        if kept.is_dir():
            return kept
        for tool in ("apt-get", "dpkg"):
            if not shutil.which(tool):
                raise Unavailable(
                    f"{package} comes from Debian's packages, and {tool} is not on this machine"
                )
        scratch, draft = cache() / "apt", cache() / f"{name}.new"
        for folder in (scratch, draft):
            shutil.rmtree(folder, ignore_errors=True)
        for archive in fetch(scratch, package, suite=suite):
            run(["dpkg", "-x", archive, draft], failing=f"unpacking {archive.name}")
        shutil.rmtree(scratch)
        draft.rename(kept)
    return kept


def command(root: Path, program: str) -> list[str]:
    """The start of a program's command line, through the loader that belongs to its C library."""
    loader = next(root.glob("usr/lib/*/ld-linux*.so.*"), None)
    found = next(root.glob(f"usr/*bin/{program}"), None)
    if not loader or not found:
        raise Unavailable(f"{root} is damaged: remove it, and it is fetched again")
    return [str(loader), "--library-path", str(loader.parent), str(found)]


def program(name: str, package: str) -> list[str]:
    """The start of a program's command line: the machine's own, or that of Debian's package."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    own = shutil.which(name, path=path)
    return [own] if own else command(unpacked(package, package, suite="stable"), name)


nginx: Callable[[], list[str]] = partial(program, "nginx", "nginx")
haproxy: Callable[[], list[str]] = partial(program, "haproxy", "haproxy")
caddy: Callable[[], list[str]] = partial(program, "caddy", "caddy")
promtool: Callable[[], list[str]] = partial(program, "promtool", "prometheus")

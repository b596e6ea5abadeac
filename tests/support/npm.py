"""npm packages for tests: installed into the tests' cache by a lock, whose hashes npm checks."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from tests.support.debian import cache
from tests.support.unavailable import Unavailable, run


def installed(here: Path, name: str) -> Path:
    """The folder `name` of the cache, with `node_modules` by the lock in `here`; raises Unavailable.

    It is there only once it is complete.
    """
    kept = cache() / name
    if kept.exists():
        return kept
    if shutil.which("npm") is None:
        raise Unavailable(f"{name} is fetched by npm, which is not on this machine")
    kept.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=kept.parent))
    try:
        for file in ("package.json", "package-lock.json"):
            shutil.copy(here / file, draft)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]
        run(["npm", "ci", "--prefix", draft, *options], failing=f"installing {name} by npm")
        if not kept.exists():  # another process may have been faster
            draft.rename(kept)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return kept


def node() -> str:
    """Where node is; raises Unavailable."""
    found = shutil.which("node")
    if found is None:
        raise Unavailable("node is not on this machine")
    return found

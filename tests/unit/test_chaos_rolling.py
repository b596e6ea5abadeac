"""The release before comes out of the checkout's history, and its code is what runs."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tests.chaos.rolling import Release, before
from tests.support.unavailable import had


def test_the_release_before_lacks_the_newest_migration(tmp_path: Path) -> None:
    old = had(lambda: before(tmp_path))
    there = {path.name for path in (old.folder / "migrations/versions").glob("*.py")}
    now = {path.name for path in Path("migrations/versions").glob("*.py")}
    assert there
    assert there < now


def test_a_release_is_its_own_code(tmp_path: Path) -> None:
    (tmp_path / "commands.py").write_text("def main(prog_name): print('the old one', prog_name)")
    old = Release(tmp_path)
    done = subprocess.run(
        old.argv("serve"), env=old.env({}), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "the old one restante\n"

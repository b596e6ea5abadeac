"""Finding a Python that is new enough, where `python3` is not or is something else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "deploy" / "bootstrap.sh"
OLD = '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 && exit 0\nexit 1\n'
NEW = '#!/bin/sh\n[ "$1" = -c ] && exit 0\necho "$(basename "$0") ran $2"\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A folder to be all of PATH, with what the script itself needs."""
    for tool in ("sh", "dirname", "basename"):
        found = shutil.which(tool)
        assert found
        (tmp_path / tool).symlink_to(found)
    return tmp_path


def put(path: Path, name: str, script: str) -> None:
    (path / name).write_text(script)
    (path / name).chmod(0o755)


def run(path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", str(SCRIPT), "runtime"],
        env={"PATH": str(path), **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_old_python3_alone_is_named_with_what_is_needed(path: Path) -> None:
    put(path, "python3", OLD)
    done = run(path)
    assert done.returncode == 1
    assert "needs Python 3.11 or newer; on PATH there is Python 3.9.2" in done.stderr


def test_no_python_at_all(path: Path) -> None:
    done = run(path)
    assert done.returncode == 1
    assert "no python3 at all" in done.stderr


def test_a_newer_python_beside_an_old_python3_is_taken(path: Path) -> None:
    put(path, "python3", OLD)
    put(path, "python3.12", NEW)
    assert run(path).stdout == "python3.12 ran runtime\n"


def test_a_python_that_is_named_is_the_only_one_tried(path: Path) -> None:
    put(path, "python3", NEW)
    put(path, "mine", OLD)
    done = run(path, PYTHON="mine")
    assert done.returncode == 1
    assert "PYTHON=mine is none" in done.stderr

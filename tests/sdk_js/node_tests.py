"""Runs cases of `node --test`, each once, and tells of each by its name."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.npm import node
from tests.support.unavailable import had

HERE = Path(__file__).parent
CASES = HERE / "cases"
PACKAGE = HERE.parents[1] / "sdk" / "js"


def with_package(folder: Path) -> Path:
    """A folder in which programs find `restante-agent` as one that npm installed."""
    (folder / "node_modules").mkdir(parents=True)
    (folder / "node_modules" / "restante-agent").symlink_to(PACKAGE)
    return folder


def package_url(folder: Path) -> str:
    """Where the package's files are, as programs in the folder load them."""
    return f"file://{folder}/node_modules/restante-agent/"


def run_cases(folder: Path, *names: str, env: Mapping[str, str] | None = None) -> None:
    """Run files of `cases` in one node; its report is in the failure."""
    program = had(node)
    for path in CASES.iterdir():
        (folder / path.name).symlink_to(path)
    done = subprocess.run(
        # without it node would look for packages beside the cases and not beside their links
        [program, "--preserve-symlinks", "--preserve-symlinks-main", "--test", *names],
        cwd=folder,
        env=environment({"PACKAGE_URL": package_url(folder), **(env or {})}),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """This process's, without settings of its own."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("RESTANTE_")}
    return {**inherited, "NODE_NO_WARNINGS": "1", **more}


def run_program(
    folder: Path, text: str, env: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """A program of its own that imports the package."""
    path = folder / "program.mjs"
    path.write_text(text)
    return subprocess.run(
        [had(node), path],
        cwd=folder,
        env=environment(env),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def package_version() -> str:
    """As package.json says it."""
    said = json.loads((PACKAGE / "package.json").read_text())
    return str(said["version"])

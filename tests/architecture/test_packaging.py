"""The locks, the scripts that need only Python, and the Makefile's own list of targets."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from tests.architecture.sources import ROOT, files, imports, name, tree

RUNTIME, DEVELOPMENT = "requirements.lock", "requirements-dev.lock"


def pins(lock: str) -> dict[str, str]:
    """Version by package; each pin's block of lines must hold a hash."""
    text = (ROOT / lock).read_text()
    blocks = re.split(r"\n(?=[a-z0-9])", text)
    found = {}
    for block in blocks:
        head = re.match(r"([a-z0-9][a-z0-9._-]*)(?:\[[^\]]*\])?==(\S+)", block)
        assert head, f"{lock}: {block[:60]!r} is no exact pin"
        assert "--hash=sha256:" in block, f"{lock}: {head[1]} has no hash"
        found[head[1]] = head[2]
    return found


def requirements(project: str) -> set[str]:
    """The names of the packages a project depends on."""
    data = tomllib.loads((ROOT / project).read_text())["project"]
    return {
        re.match(r"[A-Za-z0-9._-]+", line)[0].lower()  # type: ignore[index]  # a name comes first
        for line in data["dependencies"]
    }


@pytest.mark.parametrize("lock", [RUNTIME, DEVELOPMENT])
def test_a_lock_is_exact_hashed_and_names_no_index(lock: str) -> None:
    assert len(pins(lock)) > 30
    lines = (ROOT / lock).read_text().splitlines()
    assert not [line for line in lines if "://" in line or line.startswith("-")]


def test_both_locks_agree() -> None:
    runtime, development = pins(RUNTIME), pins(DEVELOPMENT)
    assert runtime.items() <= development.items()


@pytest.mark.parametrize("project", ["pyproject.toml", "sdk/python/pyproject.toml"])
def test_the_lock_has_what_the_projects_need(project: str) -> None:
    assert requirements(project) <= set(pins(RUNTIME))


def test_every_module_at_the_top_is_shipped() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    shipped = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    modules = {path.name for path in files(".py") if path.parent == ROOT}
    assert modules <= set(shipped)
    assert not [entry for entry in shipped if not (ROOT / entry).exists()]


def test_set_up_needs_nothing_but_python() -> None:
    own = {path.stem for path in files(".py", "deploy")}
    wrong = [
        f"{name(path)}:{line} {module}"
        for path in files(".py", "deploy")
        for module, line in imports(tree(path))
        if module.partition(".")[0] not in sys.stdlib_module_names | own
    ]
    assert not wrong


def test_make_alone_lists_every_target() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = re.findall(r"^\.PHONY: (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    steps = {"venv-runtime", "collected"}  # parts of others, of no use by themselves
    assert {"serve", "test", "ci"} <= set(targets)
    assert not [target for target in set(targets) - steps if f"make {target} " not in listed]

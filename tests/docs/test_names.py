"""What the pages name is there: files, symbols in files, the other ends of links, make targets."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, blocks, prose

# `restante/inbox/claim.py`, `restante/inbox/claim.py:claim`, `deploy/`
NAMED = re.compile(r"`([\w./*-]+?)(?::(\w+(?:\.\w+)*))?`")
ROOMS = {
    entry.name for entry in ROOT.iterdir() if entry.is_dir() and not entry.name.startswith(".")
} - {"instance"}


def is_path(name: str) -> bool:
    """Tell whether a name in code style says a file or folder of the repository."""
    return ("/" in name.rstrip("/") and name.split("/", maxsplit=1)[0] in ROOMS) or name.rstrip(
        "/"
    ) in ROOMS


def symbols(file: Path) -> set[str]:
    """What a module defines at its top, and in its classes as Class.member."""
    found = set()
    for node in ast.parse(file.read_text()).body:
        for name in _names(node):
            found.add(name)
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{name}" for item in node.body for name in _names(item))
    return found


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_named_files_and_symbols_exist(page: Path) -> None:
    for name, symbol in NAMED.findall(prose(page)):
        if symbol and name.endswith(".py") and (is_path(name) or (ROOT / name).exists()):
            assert (ROOT / name).is_file(), name
            assert symbol in symbols(ROOT / name), f"{name} has no {symbol}"
        elif is_path(name):
            assert list(ROOT.glob(name.rstrip("/"))), f"{name} is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if "://" not in target and not target.startswith("#"):
            assert (page.parent / target.split("#")[0]).exists(), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    said = prose(page) + "\n".join(f"`{block.text}`" for block in blocks(page))
    for target in re.findall(r"`make ([a-z-]+)", said):
        assert target in targets, f"make {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_modules_that_are_run_are_there(page: Path) -> None:
    for module in re.findall(r"python -m ([\w.]+)", page.read_text()):
        if module.split(".")[0] in ROOMS:
            place = ROOT / module.replace(".", "/")
            assert place.with_suffix(".py").exists() or (place / "__main__.py").exists(), module


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(
        r"^\| \[(\d{4})\]\((\S+)\)", (folder / "README.md").read_text(), re.MULTILINE
    )
    pages = sorted(page.name for page in folder.glob("[0-9]*.md"))
    assert [file for _, file in listed] == pages
    assert [number for number, _ in listed] == [page[:4] for page in pages]
    assert all((folder / page).read_text().startswith(f"# {page[:4]} ") for page in pages), (
        "a page begins with its number"
    )

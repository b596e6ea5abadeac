"""The repository's own files, as rules about them read them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVER = ("restante", "blueprints", "workers")
NOT_OURS = {".venv", ".git", "node_modules", "instance", "dist", "__pycache__", "vendor"}


@cache
def files(suffix: str, *folders: str) -> tuple[Path, ...]:
    """All files with a suffix ("": any) below the folders, or in the whole repository."""
    found: list[Path] = []
    pending = [ROOT / folder for folder in folders] or [ROOT]
    while pending:
        for path in sorted(pending.pop().iterdir()):
            if path.is_dir():
                hidden = path.name.startswith(".") and path.name != ".ci"
                if path.name not in NOT_OURS and not hidden:
                    pending.append(path)
            elif path.name.endswith(suffix):
                found.append(path)
    return tuple(sorted(found))


def name(path: Path) -> str:
    """The path as a reader of a failure wants it."""
    return path.relative_to(ROOT).as_posix()


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def dotted(node: ast.expr) -> str:
    """`a.b.c` for an attribute of a name, with what cannot be named left out: `.c` of any call."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def calls(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Every call's dotted name and line."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call):
            yield dotted(node.func), node.lineno


def names_used(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Every dotted name that is read, called or not, and its line."""
    for node in ast.walk(module):
        if isinstance(node, (ast.Attribute, ast.Name)):
            yield dotted(node), node.lineno


def imports(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Every module imported, and for `from a import b` both `a` and `a.b`."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.lineno
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno

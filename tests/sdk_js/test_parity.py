"""docs/sdk-parity.md: every feature has, in each of the two packages, a test that is there, or a reason."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.architecture.sources import ROOT

CASES = ROOT / "tests" / "sdk_js" / "cases"
PAGE = (ROOT / "docs" / "sdk-parity.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith(("| feature", "| **"))
]


def is_there(cell: str) -> bool:
    """Whether the cell names a test that exists; a dash has to be followed by the reason."""
    if cell.startswith("— "):
        return len(cell) > len("— why")
    if found := re.fullmatch(r"`(tests/[\w/]+\.py)(?::(\w+))?`", cell):
        return has_test(ROOT / found[1], found[2])
    found = re.fullmatch(r"`cases/([\w.]+\.mjs)` (.+)", cell)
    return found is not None and found[2] in named(CASES / found[1])


def has_test(path: Path, name: str | None) -> bool:
    names = [
        node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)
    ]
    return name in names if name else any(one.startswith("test_") for one in names)


def named(path: Path) -> list[str]:
    """The names of the file's cases, those made in a loop as they are written."""
    found = re.findall(r'^ *test\((["`])(.+?)\1, ', path.read_text(), re.MULTILINE)
    return [name for _, name in found]


def test_every_cell_names_a_test_that_is_there() -> None:
    assert len(ROWS) > 50
    assert [cell for row in ROWS for cell in row[1:] if not is_there(cell)] == []
    assert [row for row in ROWS if len(row) != 3] == []


def test_every_feature_is_had_by_one_at_least() -> None:
    assert [row[0] for row in ROWS if all(cell.startswith("—") for cell in row[1:])] == []


def test_every_file_of_cases_is_run() -> None:
    run = (CASES / "unit.mjs").read_text()
    assert {path.name for path in CASES.glob("*.test.mjs")} == set(
        re.findall(r'import "\./(.+)";', run)
    )

"""The list of attack cases is whole: each has its test."""

from __future__ import annotations

import re
from pathlib import Path

CASES = 120


def test_every_case_has_a_test() -> None:
    found: list[int] = []
    for path in Path(__file__).parent.glob("test_*.py"):
        found += map(int, re.findall(r"^def test_jo_(\d{3})_", path.read_text(), re.MULTILINE))
    assert sorted(found) == list(range(1, CASES + 1))

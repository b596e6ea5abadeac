"""docs/deploy.md lists what `doctor` finds: all of it, and each with a test."""

from __future__ import annotations

import ast
import re

from tests.docs.pages import ROOT

SOURCES = (
    "doctor.py",
    "front_door.py",
    "workers/conditions.py",
    "restante/storage/probe.py",
    "restante/storage/durability.py",
)
MAKERS = {"Finding": 1, "_refused": 0, "_warning": 0, "_lossy": 0}
"""Where a call that makes a finding has its subject."""
PAGE = (ROOT / "docs" / "deploy.md").read_text().partition("## What doctor finds")[2]
TRIED = [
    *("acceptance/test_commands.py", "engine/test_doctor.py", "unit/test_conditions.py"),
    *("unit/test_front_door.py", "unit/test_probe.py", "console/test_commands.py"),
]


def subjects() -> set[str]:
    found = set()
    for source in SOURCES:
        for node in ast.walk(ast.parse((ROOT / source).read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            place = MAKERS.get(node.func.id)
            subject = None if place is None else node.args[place]
            if isinstance(subject, ast.Constant):
                found.add(str(subject.value))
    return found


def test_the_page_lists_what_is_found() -> None:
    told = set()
    for first in re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE):
        told |= set(re.findall(r"`(\w+)`", first))
    assert told == subjects()
    assert len(told) > 35


def test_what_is_found_is_tried() -> None:
    text = "".join((ROOT / "tests" / file).read_text() for file in TRIED)
    assert not [name for name in subjects() if f'"{name}"' not in text]

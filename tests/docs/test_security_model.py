"""The threat model: each threat names what fails when its answer breaks, and no source is left out."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "security-model.md").read_text()
PAINS, BYPASSES = 35, 26
SECTIONS = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]


def rows(section: str) -> list[list[str]]:
    """The cells of its tables' rows, without heads and rules."""
    found: list[list[str]] = []
    for line in section.splitlines():
        if re.fullmatch(r"\|(-+\|)+", line):
            found.pop()  # the line above was a head
        elif line.startswith("|"):
            found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def with_tests() -> list[tuple[str, str]]:
    """(threat, its tests) of every table that has a column for them."""
    return [
        (row[0], row[-1]) for section in SECTIONS if "tests |" in section for row in rows(section)
    ]


@pytest.mark.parametrize(("threat", "tests"), with_tests(), ids=lambda text: text[:40])
def test_each_threat_names_its_tests(threat: str, tests: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?::(\w+))?`", tests)
    assert named, threat
    assert re.sub(r"`[^`]*`", "", tests).strip() == "", "nothing but tests stands there"
    for file, name in named:
        text = (ROOT / file).read_text()
        assert re.search(rf"^(async )?def {name or 'test_'}", text, re.MULTILINE), (file, name)


def test_every_pain_of_the_survey_is_answered_or_said_not_to_be() -> None:
    named = {int(number) for number in re.findall(r"push (\d+)", PAGE)}
    assert named == set(range(1, PAINS + 1))


def test_every_class_of_bypasses_is_there() -> None:
    table = PAGE.partition("The 26 classes of bypasses")[2].partition("\n## ")[0]
    named = [int(n) for row in rows(table) for n in re.findall(r"(?:^|, )(\d+) ", row[0])]
    assert sorted(named) == list(range(1, BYPASSES + 1))


def test_what_is_not_defended_says_why() -> None:
    (section,) = (one for one in SECTIONS if one.startswith("Not defended"))
    assert len(rows(section)) > 10
    assert all(row[0] and row[-1] for row in rows(section))

"""The page on running a group has the members' settings that the fault suite runs with, and its commands."""

from __future__ import annotations

import re
import shlex

import pytest

from restante.storage.address import check_database_url
from restante.storage.members import GRANT
from tests.chaos.faults import OF_BACKENDS
from tests.chaos.run import arguments
from tests.docs.pages import ROOT, blocks
from tests.support.group import OF_TESTS, RECOVERY, member_options

PAGE = ROOT / "docs" / "cluster.md"
CHAOS = ROOT / "docs" / "reliability.md"


def options(lines: list[str]) -> dict[str, str]:
    """Name → value, as in a configuration: underscores, no quotes, no comments."""
    found = {}
    for line in lines:
        name, _, value = line.partition("#")[0].strip().removeprefix("--").partition("=")
        found[name.strip().replace("-", "_")] = value.strip().strip('"')
    return found


def test_the_members_are_set_as_those_that_are_killed() -> None:
    (shown,) = [block.text for block in blocks(PAGE) if block.language == "ini"]
    told = options([line for line in shown.splitlines() if "=" in line])
    ran = options(member_options(1, (1, 2, 3), "name"))
    of_tests = options(list(OF_TESTS))
    assert told.keys() == ran.keys() - of_tests.keys()
    fixed = [name for name, value in ran.items() if value.isupper() or value.isdecimal()]
    assert {name: told[name] for name in fixed if name in told} == {
        name: ran[name] for name in fixed if name in told
    }


def test_the_statements_are_those_that_are_run() -> None:
    shown = "\n".join(block.text for block in blocks(PAGE) if block.language == "sql")
    for statement in RECOVERY:
        words = statement.replace("IF NOT EXISTS ", "").partition(" ON *.*")[0]
        assert re.split(r"(?:recovery@| = ')", words)[0] in shown, statement
    assert GRANT in shown


def test_the_urls_of_groups_are_taken() -> None:
    found = re.findall(r"mysql://restante:[^\s'`]+", PAGE.read_text())
    assert len(found) > 1
    assert all(check_database_url(url) for url in found)


@pytest.mark.parametrize(
    "command",
    [
        line.split("#")[0].strip()
        for block in blocks(CHAOS)
        for line in block.text.splitlines()
        if line.startswith("make chaos")
    ],
)
def test_what_chaos_is_told_it_understands(command: str) -> None:
    told = dict(word.split("=", 1) for word in shlex.split(command)[2:])
    backend = told.get("BACKEND", "mariadb")
    args = arguments([backend, *shlex.split(told.get("CHAOS_ARGS", ""))])
    assert set(args.fault) <= OF_BACKENDS[backend].keys()

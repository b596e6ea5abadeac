"""A name in a command that a page shows is one word of the shell, and runs nothing."""

from __future__ import annotations

import subprocess

import pytest

from blueprints.console.command_lines import for_shell


@pytest.mark.parametrize(
    "name", ["acme", "O'Brien", "Alder Freight", "$(id)", "a; id", "`id`", "'\"; id #", "é ü"]
)
def test_a_name_is_one_word_of_a_shell(name: str) -> None:
    line = f"printf '<%s>' {for_shell(name)}"
    told = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True)
    assert told.stdout == f"<{name}>"


def test_what_cannot_be_seen_is_shown() -> None:
    assert for_shell("a\nid") == "'a\\u000aid'"

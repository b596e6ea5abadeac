"""Every command of `restante` and `restante-agent` that a page names is one, with its options."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from tests.docs.command_words import PROGRAMS, said, takes
from tests.docs.pages import PAGES, ROOT, blocks

MADE = re.compile(r"restante (agent|service) create --tenant (\S+) --name (\S+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_programs_take_what_the_page_tells_them(page: Path) -> None:
    for program, words in said(page):
        try:
            takes(list(words), PROGRAMS[program])
        except (KeyError, click.UsageError) as error:
            pytest.fail(f"{program} {' '.join(words)}: {error}")


def test_what_is_no_command_is_refused() -> None:
    with pytest.raises(KeyError):
        takes(["tenant", "forget"])
    with pytest.raises(click.UsageError):
        takes(["serve", "--hots", "0.0.0.0"])
    with pytest.raises(click.UsageError):  # its stdout is the protocol's
        takes(["mcp", "--json"], PROGRAMS["restante-agent"])


def test_commands_are_found_wherever_they_stand(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Say `restante doctor\n--json`.\n```sh\nA=$(restante tenant create a | b)\n```\n"
    )
    assert list(said(page)) == [
        ("restante", ["tenant", "create", "a"]),
        ("restante", ["doctor", "--json"]),
    ]


def test_no_two_commands_of_the_pages_make_the_same_name() -> None:
    made = [
        found
        for page in PAGES
        for block in blocks(page)
        for found in MADE.findall(block.text.replace("\\\n", " "))
    ]
    assert len(made) > 10
    assert len(made) == len(set(made)), "who follows one page and then another is refused"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_make_are_targets(page: Path) -> None:
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE))
    variables = set(re.findall(r"\$\(?(?:or \$)?\(?([A-Z_]+)", text))
    for block in blocks(page):
        for target, rest in re.findall(r"^make ([a-z-]+)([^#\n]*)", block.text, re.MULTILINE):
            assert target in targets, target
            assert set(re.findall(r"\b([A-Z_]+)=", rest)) <= variables, rest

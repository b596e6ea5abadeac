"""Every fenced block of every page is run by a test, read by one, or left for a reason that is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.accounts import LEFT, READ, RUN
from tests.docs.pages import PAGES, ROOT, Block, blocks

ALL = [*RUN, *READ, *LEFT]


def fits(row: tuple[str, str, str, str], page: str, block: Block) -> bool:
    of, heading, languages, _ = row
    spoken = languages in ("*", block.language) or block.language in languages.split("|")
    return of == page and heading in ("*", block.heading) and spoken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_block_has_its_account(page: Path) -> None:
    name = str(page.relative_to(ROOT))
    for block in blocks(page):
        of = [row for row in ALL if fits(row, name, block)]
        first = block.text.partition("\n")[0]
        assert len(of) == 1, (
            f"{name}, under {block.heading!r}, a block {block.language!r} ({first}) has {len(of)} rows "
            "in tests/docs/accounts.py: have a test run it, or say why none can"
        )


@pytest.mark.parametrize("row", ALL, ids=lambda row: f"{row[0]} {row[1]} {row[2]}")
def test_each_account_is_of_a_block(row: tuple[str, str, str, str]) -> None:
    assert any(fits(row, row[0], block) for block in blocks(ROOT / row[0]))


@pytest.mark.parametrize("where", sorted({row[3] for row in [*RUN, *READ]}))
def test_the_tests_that_are_named_are_there(where: str) -> None:
    file, _, name = where.partition(":")
    text = (ROOT / file).read_text()
    assert re.search(rf"^def {name or 'test_'}", text, re.MULTILINE)


def test_a_block_without_an_account_is_noticed() -> None:
    stray = Block("Start", "ruby", "puts 1")
    assert not [row for row in ALL if fits(row, "README.md", stray)]

"""The transcripts of the README and of the page on administration are what their commands print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, Block, blocks
from tests.docs.transcripts import compare, run
from tests.support.serving import Served

SECTIONS = ("The first five minutes", "An agent without writing HTTP")


def readme() -> list[Block]:
    """Commands, and between them what they answer; then those of pages that go on there."""
    return [
        b
        for page, sections in (
            ("README.md", SECTIONS),
            ("docs/bridges.md", ("CloudEvents", "A2A")),
            ("docs/memory.md", ("A key",)),
            ("docs/rooms.md", ("Two agents and a room",)),
        )
        for b in blocks(ROOT / page)
        if b.heading in sections and b.language != "python"
    ]


@pytest.mark.timeout(300)
def test_README_answers_are_what_its_commands_print(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    assert compare(readme(), run(readme(), serve, tmp_path)) == 19


@pytest.mark.timeout(300)
def test_administration_is_done_as_its_page_says(
    serve: Callable[..., Served], tmp_path: Path
) -> None:
    shown = list(blocks(ROOT / "docs" / "administration.md"))
    assert compare(shown, run(shown, serve, tmp_path)) == 7


def test_README_python_is_python(tmp_path: Path) -> None:
    (program,) = [b.text for b in blocks(ROOT / "README.md") if b.language == "python"]
    code = compile(program.split("Agent(")[0], "README.md", "exec")
    exec(code, {})  # noqa: S102 - the README's own program, up to where it would run for ever

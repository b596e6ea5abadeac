"""The project's pages as tests read them: fenced blocks, links, names in code style."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("sdk/*/README.md"),
        *ROOT.glob("bench/*.md"),
    ]
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, with the heading that it stands under."""

    heading: str
    language: str
    text: str


def blocks(page: Path) -> Iterator[Block]:
    """The fenced blocks of a page, in order."""
    heading, language, lines = "", None, []
    for line in page.read_text().splitlines():
        if language is not None:
            if line == "```":
                yield Block(heading, language, "\n".join(lines))
                language, lines = None, []
            else:
                lines.append(line)
        elif line.startswith("```"):
            language = line[3:]
        elif line.startswith("#"):
            heading = line.lstrip("#").strip()


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)

"""Finding words in the pages, by section: each has to begin a word there, in whatever order."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup, escape

from blueprints.manual.markdown import Page, Section, page
from blueprints.manual.shelf import names

MOST_FOUND = 30
MOST_LETTERS = 100
_AROUND = 90
_TITLE_WEIGHT = 10


@dataclass(frozen=True, slots=True)
class Found:
    page: Page
    section: Section
    excerpt: Markup


def search(asked: str) -> list[Found]:
    """The best sections, at most thirty."""
    words = [_beginning(word) for word in asked[:MOST_LETTERS].split()]
    if not words:
        return []
    hits = []
    for order, name in enumerate(names()):
        one = page(name)
        for section in one.sections:
            weight = _weight(section, words)
            if weight:
                hits.append((-weight, order, section.level, one, section))
    hits.sort(key=lambda hit: hit[:3])
    return [Found(one, section, _excerpt(section, words)) for *_, one, section in hits[:MOST_FOUND]]


def _beginning(word: str) -> re.Pattern[str]:
    """Where a word begins so: `lease` is in `leases`, and not in `release`."""
    return re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE)


def _weight(section: Section, words: list[re.Pattern[str]]) -> int:
    counts = [
        _TITLE_WEIGHT * len(word.findall(section.title)) + min(len(word.findall(section.text)), 5)
        for word in words
    ]
    return sum(counts) if all(counts) else 0


def _excerpt(section: Section, words: list[re.Pattern[str]]) -> Markup:
    """What stands around the first of the words, with all of them marked."""
    text = " ".join(section.text.split())
    at = min((place.start() for word in words if (place := word.search(text))), default=0)
    start = max(0, at - _AROUND)
    cut = text[start : at + 2 * _AROUND]
    shown = f"{'… ' if start else ''}{cut}{' …' if len(text) > at + 2 * _AROUND else ''}"
    parts = re.split(f"({'|'.join(word.pattern for word in words)})", shown, flags=re.IGNORECASE)
    marked = [
        Markup("<mark>%s</mark>") % part if place % 2 else escape(part)
        for place, part in enumerate(parts)
    ]
    return Markup("").join(marked)

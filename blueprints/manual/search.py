"""Finding words in the pages, by section: every word has to be there, in whatever order."""

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
    words = asked[:MOST_LETTERS].lower().split()
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


def _weight(section: Section, words: list[str]) -> int:
    title, text = section.title.lower(), section.text.lower()
    counts = [_TITLE_WEIGHT * title.count(word) + min(text.count(word), 5) for word in words]
    return sum(counts) if all(counts) else 0


def _excerpt(section: Section, words: list[str]) -> Markup:
    """What stands around the first of the words, with all of them marked."""
    text = " ".join(section.text.split())
    at = min((place for word in words if (place := text.lower().find(word)) >= 0), default=0)
    start = max(0, at - _AROUND)
    cut = text[start : at + 2 * _AROUND]
    shown = f"{'… ' if start else ''}{cut}{' …' if len(text) > at + 2 * _AROUND else ''}"
    parts = re.split(f"({'|'.join(map(re.escape, words))})", shown, flags=re.IGNORECASE)
    marked = [
        Markup("<mark>%s</mark>") % part if place % 2 else escape(part)
        for place, part in enumerate(parts)
    ]
    return Markup("").join(marked)

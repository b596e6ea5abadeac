"""Text that others chose, as it may be shown: what cannot be seen is made visible, and it turns nothing.

Unicode TR 36 and TR 9: a name with U+202E must not look like another, nor turn its neighbours.
"""

from __future__ import annotations

import unicodedata

from markupsafe import Markup, escape

_MOST = 200
_MOST_MARKS = 3
_NOTHING = "\N{EN DASH}"


def foreign(text: str | None, most: int = _MOST) -> Markup:
    """The text as an isolated element, cut at so many characters; a dash where there is none."""
    if not text:
        return Markup('<span class="meta">{}</span>').format(_NOTHING)
    cut = f"{text[:most]}…" if len(text) > most else text
    return Markup("<bdi>{}</bdi>").format(escape(visible(cut)))


def foreign_block(text: str) -> Markup:
    """Lines of text: as they are broken, and otherwise as above."""
    return Markup("\n").join(escape(visible(line)) for line in text.split("\n"))


def visible(text: str) -> str:
    """The text alone, whole: for a title, which names what a table cuts."""
    shown, marks = [], 0
    for letter in text:
        kind = unicodedata.category(letter)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if marks > _MOST_MARKS or kind.startswith("C") or kind in ("Zl", "Zp"):
            shown.append(_code(letter))
        else:
            shown.append(letter)
    return "".join(shown)


def _code(letter: str) -> str:
    number = ord(letter)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"

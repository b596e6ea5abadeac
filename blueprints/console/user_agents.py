"""What a browser says of itself, in words: `Firefox 143 on Linux`. It is unchecked, and only shown."""

from __future__ import annotations

import re

from markupsafe import Markup

from blueprints.console.foreign_text import visible

_UNKNOWN = "browser not told"
_BROWSERS = (
    ("Edge", r"Edg(?:e|A|iOS)?/(\d+)"),
    ("Opera", r"OPR/(\d+)"),
    ("Samsung Internet", r"SamsungBrowser/(\d+)"),
    ("Firefox", r"(?:Firefox|FxiOS)/(\d+)"),
    ("Chrome", r"(?:Chrome|Chromium|CriOS)/(\d+)"),
    ("Safari", r"Version/(\d+)\S* (?:Mobile/\S+ )?Safari/"),
)
"""The first that matches: most say that they are Chrome and Safari too."""
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows NT"),
    ("ChromeOS", "CrOS"),
    ("macOS", "Mac OS X"),
    ("Linux", "Linux"),
)
_SHORT = 120


def browser_words(text: str | None) -> str:
    """Browser and system, where they are among the common ones; else the beginning of what it says."""
    if not text:
        return _UNKNOWN
    system = next((name for name, mark in _SYSTEMS if mark in text), None)
    for name, pattern in _BROWSERS:
        if found := re.search(pattern, text):
            return f"{name} {found[1]}" + (f" on {system}" if system else "")
    return visible(f"{text[:_SHORT]}…" if len(text) > _SHORT else text)


def browser(text: str | None) -> Markup:
    """Those words as an element, with all that it says in the title."""
    return Markup('<bdi title="{}">{}</bdi>').format(visible(text or ""), browser_words(text))

"""Instants on pages: each follows the switch between UTC and local, or says how long ago it was."""

from __future__ import annotations

import re
from pathlib import Path

CONSOLE = Path(__file__).parents[2] / "templates" / "console"
BARE = 'extends "console/bare.html"'
"""Pages without the switch: all their times are UTC."""
_TIME = re.compile(r"<time([^>]*(?:\{\{.*?\}\}[^>]*)*)>(.*?)</time>")


def test_every_instant_follows_the_switch() -> None:
    """A page that mixed both would name one minute twice."""
    left = []
    for path in CONSOLE.glob("*.html"):
        text = path.read_text()
        if BARE in text:
            continue
        for time in _TIME.finditer(text):
            relative = "length" in time[2] or time[2] == ""
            if not relative and " data-at" not in time[1]:
                left.append((path.name, time[0]))
        outside = _TIME.sub("", text)
        left += [(path.name, found) for found in re.findall(r"\w+\.strftime\([^)]*\)", outside)]
        left += [(path.name, found) for found in re.findall(r"\}\} UTC", outside)]
    assert left == []

"""What every page of the console keeps to: one heading, names for fields, nothing inline, light styles."""

from __future__ import annotations

import re
from pathlib import Path

from tests.console.html import Element

STATIC = Path(__file__).parents[2] / "static"
MOST_STYLE = 20 * 1024 - 400
"""Room is left, so that a rule more on one page is no reason to take one from all."""


def check_made(page: Element) -> None:
    """One heading, a name for what is typed, and no style, script or address that is not ours."""
    assert len(page.all("h1")) == 1
    assert not page.all("style")
    assert page.one("a", **{"class": "skip"}).attributes["href"] == "#page"
    ids = [one.attributes["id"] for one in page if "id" in one.attributes]
    assert len(set(ids)) == len(ids), sorted(ids)
    named = {label.attributes.get("for") for label in page.all("label")}
    for tag in ("input", "select", "textarea"):
        for one in page.all(tag):
            if one.attributes.get("type") not in ("hidden", "checkbox", "radio"):
                assert one.attributes["id"] in named, one.attributes
    for one in page:
        for name, value in one.attributes.items():
            assert name != "style"
            assert not name.startswith("on"), (one.tag, name)
            if name in ("href", "src", "action", "formaction"):
                assert re.match(r"[/?#](?!/)", value), value
    for script in page.all("script"):
        assert re.fullmatch(r"/static/(vendor/)?[a-z0-9.-]+\.js", script.attributes["src"])
        assert script.text == ""


def check_light(page: Element) -> None:
    """Its styles are at most 20 KiB raw, with room to spare."""
    sheets = [one.attributes["href"] for one in page.all("link", rel="stylesheet")]
    sizes = [len((STATIC / href.removeprefix("/static/")).read_bytes()) for href in sheets]
    assert 0 < sum(sizes) <= MOST_STYLE, dict(zip(sheets, sizes, strict=True))

"""axe-core, which finds what keeps people out of a page: fetched by npm when it is needed, by its lock."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.support.npm import installed

VERSION = "4.14.1"
OF_COLOUR = ("color-contrast", "link-in-text-block")
"""What another theme may break: the rest goes by what is on a page and where."""
RUN = """async (rules) => (await axe.run(document, {
        resultTypes: ["violations"], preload: false, ...(rules && {runOnly: rules})})).violations
    .map((one) => `${one.id}: ${one.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(" | ")}`)"""


def script() -> str:
    """Its text; raises Unavailable where it cannot be had."""
    folder = installed(Path(__file__).with_name("axe"), f"axe-core-{VERSION}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


def found_by(page: Page, rules: Sequence[str] = ()) -> list[str]:
    """What it finds on a page by those rules, or all it has, a line each.

    Its text has been an init script of the page's: the debugger's, past the page's policy.
    """
    told: list[Any] = page.evaluate(RUN, list(rules) or None)
    return [str(line) for line in told]

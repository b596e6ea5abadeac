"""axe-core, which finds what keeps people out of a page: fetched by npm when it is needed, by its lock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from tests.support.npm import installed

VERSION = "4.14.1"
RUN = """async () => (await axe.run(document, {resultTypes: ["violations"]})).violations
    .map((one) => `${one.id}: ${one.nodes.map((n) => n.html.slice(0, 160)).slice(0, 3).join(" | ")}`)"""


def script() -> str:
    """Its text; raises Unavailable where it cannot be had."""
    folder = installed(Path(__file__).with_name("axe"), f"axe-core-{VERSION}")
    return (folder / "node_modules/axe-core/axe.min.js").read_text()


def found_by(page: Page, text: str) -> list[str]:
    """What it finds on a page, a line each; it is evaluated by the debugger, past the page's policy."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(text)
    told: list[Any] = page.evaluate(RUN)
    return [str(line) for line in told]

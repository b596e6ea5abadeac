"""Which pages there are, and for whom: the index in the order in which a reader needs them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs"
BESIDE = ("sdk/python/README", "sdk/js/README")
"""Pages that lie with what they are about, and not in `docs/`."""

READERS: dict[str, tuple[str, ...]] = {
    "Agents": (
        "together",
        "agents",
        *BESIDE,
        "memory",
        "rooms",
        "webhooks",
        "bridges",
        "sdk-parity",
    ),
    "Producers": ("producers", "publishing", "examples/orders/README"),
    "Operators": (
        *("operations", "deploy", "settings", "databases", "cluster", "upgrades"),
        *("tenants", "administration", "operators", "roles", "keys"),
        *("watching", "runbook", "triage", "performance", "scale"),
    ),
    "Security reviewers": ("security-model", "reliability"),
    "Whoever wants to know how it works": (
        "main-flow",
        "state-machine",
        "glossary",
        "decisions/README",
    ),
}
WITHIN = frozenset({"requirements"})
"""For those who work on Restante itself: read in the repository."""


@cache
def names() -> tuple[str, ...]:
    """The pages that are there, those of the index first."""
    there = {
        path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.glob("**/*.md")
    } - WITHIN | {name for name in BESIDE if (ROOT / f"{name}.md").exists()}
    listed = [name for pages in READERS.values() for name in pages if name in there]
    return (*listed, *sorted(there - set(listed)))


def file_of(name: str) -> str:
    """Where a page lies, from the root."""
    return f"{name}.md" if name in BESIDE else f"docs/{name}.md"

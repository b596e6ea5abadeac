"""Names that people give: what they may look like. Pure."""

from __future__ import annotations

import re

from restante.errors import ValidationFailed
from restante.identity.scopes import SLUG

NAME_LENGTH = 190
TIDY = r"^[^\x00-\x1f\x7f-\x9f]*$"
"""No control characters: names and keys are shown, logged and compared. As JSON Schema has it too."""

UNTIDY = "must have no control characters (U+0000 to U+001F, U+007F to U+009F)"
_CONTROLS = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
SAYS_WHY = rf"^[^{_CONTROLS}]*[^\s{_CONTROLS}][^{_CONTROLS}]*$"
"""What a reason is: not blank, no control characters but tabs and the ends of lines."""

NO_REASON = "must say why, with no control characters but tabs and the ends of lines"
_LOOKS_LIKE_AN_ID = re.compile(r"[a-z]{2,4}_[0-9a-f]{32}")


def check_name(name: str) -> str:
    """The name of a tenant, agent or service; ValidationFailed where it cannot be one.

    Not the form of an id: commands take either. No spaces around it: databases differ in whether they count.
    """
    if not 1 <= len(name) <= NAME_LENGTH or not name.isprintable() or name != name.strip():
        raise ValidationFailed.at(
            "/name", f"must be 1 to {NAME_LENGTH} printable characters without spaces around them"
        )
    if _LOOKS_LIKE_AN_ID.fullmatch(name):
        raise ValidationFailed.at("/name", "has the form of an id; take another")
    return name


def is_tidy(text: str) -> bool:
    """Whether it has no control characters. Any other text will do, the empty one too."""
    return re.fullmatch(TIDY, text) is not None


def check_slug(slug: str) -> str:
    """A project's slug; ValidationFailed where it cannot be one."""
    if not SLUG.fullmatch(slug):
        raise ValidationFailed.at(
            "/slug", "must be 1 to 64 letters, digits, hyphens or underscores"
        )
    return slug

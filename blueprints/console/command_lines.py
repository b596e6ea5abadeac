"""Words in a command that a page shows: whoever pastes it runs the command that is meant, and no other."""

from __future__ import annotations

import shlex

from blueprints.console.foreign_text import visible


def for_shell(text: str) -> str:
    """One word of a POSIX shell, whatever is in it; what cannot be seen is shown, and so is not run."""
    return shlex.quote(visible(text))

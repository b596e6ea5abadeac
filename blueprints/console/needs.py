"""What needs somebody, worst first, as the overview lists it: each with its next step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from restante.inbox.attention import Attention

MOST_NEEDS = 7


class Need(NamedTuple):
    """A line: which kind, by which its words are chosen (templates/console/needs.html), and of what."""

    kind: str
    what: Any


def needs(
    found: Attention,
    *,
    growing: Mapping[str, int],
    unroutable: int,
    suspended: int,
    to_approve: int,
    most: int | None = MOST_NEEDS,
) -> tuple[list[Need], int]:
    """The lines, at most so many, and how many more there would be."""
    risen = [line for line in found.inboxes if line.agent.public_id in growing]
    risen.sort(key=lambda line: -growing[line.agent.public_id])
    lines = [Need("cause", cause) for cause in found.causes]
    others = {
        "causes": found.more_causes,
        "filling": found.filling,
        "growing": risen,
        "untaken": found.untaken,
        "unroutable": unroutable,
        "unread": found.unread,
        "away": found.away,
        "suspended": suspended,
        "to_approve": to_approve,
        "paused": found.paused,
        "disabled": found.disabled,
    }
    lines += [Need(kind, what) for kind, what in others.items() if what]
    shown = lines[:most]
    return shown, len(lines) - len(shown)

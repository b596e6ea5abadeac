"""What the server refuses of memory and turns (contract 5.7, 5.8)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from restante_agent.errors import ApiError, Conflict


class RevisionGone(ApiError):
    """410: what was deleted from memory after this revision is no longer known.

    Fetch `state_url` once and go on from the revision it says.
    """

    @property
    def state_url(self) -> str | None:
        url = self.member("state_url")
        return url if isinstance(url, str) and url else None


class TurnConflict(Conflict):
    """409: a part of the turn was refused, so nothing of it was done.

    `failures`: ``{part, index, problem}`` of each, the problem as it would have been alone.
    """

    @property
    def failures(self) -> tuple[Mapping[str, Any], ...]:
        found = self.member("failures")
        return tuple(f for f in found if isinstance(f, Mapping)) if isinstance(found, list) else ()

    @property
    def is_stale(self) -> bool:
        """Whether a claim that it settles is over."""
        return any(f.get("part") in ("ack", "release", "reject") for f in self.failures)

    def __str__(self) -> str:
        named = "; ".join(
            f"{f.get('part')}[{f.get('index')}] {_detail(f.get('problem'))}" for f in self.failures
        )
        return f"{super().__str__()}: {named}" if named else super().__str__()


def _detail(problem: object) -> str:
    found = problem.get("detail") if isinstance(problem, Mapping) else None
    return found if isinstance(found, str) else ""


class VersionConflict(ApiError):
    """412: the key is at another version than the one named; `current_version` None: not there."""

    @property
    def current_version(self) -> int | None:
        number = self.member("current_version")
        return number if isinstance(number, int) else None

"""Recipients that a process has just found, so that the next publish need not look them up again."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

KNOWN = "restante.known_recipients"
"""Key of `session.info`: the Known of this process; without one every call looks them up."""

FRESH_SECONDS = 0.5
"""So old may be what a publish goes by: a grant that is withdrawn holds within a second."""

_KEPT = 10_000

Wanted = Collection[tuple[bytes, str | None]]
"""(recipient id, project slug) of each; without a slug it is only named."""


class Known:
    """Recipients that were found to hold a project, and their limits. Never who was refused."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._found: dict[tuple[bytes, bytes, str], tuple[float, int | None, int | None]] = {}

    def limits(
        self, tenant_id: bytes, wanted: Wanted
    ) -> tuple[dict[bytes, int | None], int | None] | None:
        """({recipient: max_pending}, the tenant's) where all are known and fresh, else None."""
        oldest = self.clock() - FRESH_SECONDS
        limits: dict[bytes, int | None] = {}
        tenant_limit = None
        for recipient_id, slug in wanted:
            found = None if slug is None else self._found.get((tenant_id, recipient_id, slug))
            if found is None or found[0] < oldest:
                return None
            limits[recipient_id], tenant_limit = found[1:]
        return limits, tenant_limit

    def note(
        self,
        tenant_id: bytes,
        wanted: Wanted,
        rows: Sequence[Any],
        *,
        asked_at: float,
    ) -> None:
        """These were found, by a look that began at `asked_at`."""
        if len(self._found) > _KEPT:
            self._found.clear()
        by_id = {row.principal_id: row for row in rows}
        for recipient_id, slug in wanted:
            if slug is not None:
                row = by_id[recipient_id]
                found = (asked_at, row.max_pending, row.tenant_limit)
                self._found[tenant_id, recipient_id, slug] = found

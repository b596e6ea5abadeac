"""What a refused call may leave behind: nothing but one entry of the audit, where there is to be one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import func, select

from restante.storage.tables.audit import audit_entry
from tests.engine.snapshot import Rows, changed_rows, snapshot
from tests.http.world import World

MAY_CHANGE = {"audit_entry", "audit_chain"}


@dataclass
class Watch:
    """Watches a world's rows while it is walked through."""

    world: World
    rows: Rows = field(init=False)
    minutes: float = 0.0

    def __post_init__(self) -> None:
        refusals = self.world.house.refusals
        for rates in (refusals._known, refusals._strangers, refusals._of_strangers):
            rates._clock = lambda: self.minutes * 60
        self.rows = self._rows()

    @contextmanager
    def nothing_changes(self, what: object, *, but: frozenset[str] = frozenset()) -> Iterator[None]:
        """No row of any table but the audit's, and those named."""
        yield
        now = self._rows()
        changed = {table for table, _ in changed_rows(self.rows, now)} - but
        assert changed == set(), what
        self.rows = now

    @contextmanager
    def audits(self, number: int, what: object) -> Iterator[None]:
        """So many entries, a minute after those before."""
        self.minutes += 1
        before = self._entries()
        yield
        assert self._entries() - before == number, what

    def _entries(self) -> int:
        count: int = self.world.house.database.run(
            lambda s: s.connection().execute(select(func.count()).select_from(audit_entry)).scalar()
        )
        return count

    def _rows(self) -> Rows:
        found = snapshot(self.world.house.database)
        return {key: row for key, row in found.items() if key[0] not in MAY_CHANGE}


def told(answer: Any) -> dict[str, Any]:
    """All of a problem but its own address and request, and the ids that the caller named himself."""
    members = {"status": answer.status_code, **answer.json}
    members.pop("instance", None)
    members.pop("request_id", None)
    members.pop("recipients", None)
    return members

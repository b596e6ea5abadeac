"""What of a tenant has changed, for operators who watch: topics, said once a second, never what.

Rings for operators go the way of all rings (rings.py): the inbox is the tenant, the project a topic.
Requests only note topics in memory; a service rings for them, so no verb pays for who watches.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from restante.signals.rings import Ring, ring
from restante.signals.streams import Pass, Stream
from restante.storage.clock import database_now
from restante.storage.tables.operators import operator, operator_session

PLATFORM = b"\0" * 16
"""The place of those who watch and are of no tenant."""


class Topic(StrEnum):
    """What pages say that they show."""

    EVENTS = "events"
    QUARANTINE = "quarantine"
    AGENTS = "agents"
    CALLBACKS = "callbacks"
    SCOPES = "scopes"
    ASSIGNMENTS = "assignments"
    ROOMS = "rooms"
    MEMORY = "memory"
    TENANT = "tenant"
    FIGURES = "figures"  # by time: whatever nobody has told of is at most a sample old

    @property
    def id(self) -> bytes:
        """As a ring carries it."""
        return self.value.encode().ljust(16, b"\0")


TOPICS: Mapping[bytes, Topic] = {topic.id: topic for topic in Topic}
ALL = frozenset(TOPICS)


class Changes:
    """What this process has changed since it was last told."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._noted: set[tuple[bytes, Topic]] = set()

    def note(self, tenant_id: bytes, topics: Iterable[Topic]) -> None:
        """Something of these may have changed."""
        with self._lock:
            self._noted.update((tenant_id, topic) for topic in topics)

    def take(self) -> set[tuple[bytes, Topic]]:
        """All that was noted, once."""
        with self._lock:
            noted, self._noted = self._noted, set()
        return noted


def ring_watchers(session: Session, noted: Collection[tuple[bytes, Topic]]) -> int:
    """Ring for tenants of which an operator is signed in, at most once a topic; returns how often."""
    tenants = sorted({tenant_id for tenant_id, _ in noted})
    if not tenants:
        return 0
    values = {"tenants": tenants, "now": database_now(session)}
    watched = set(session.connection().execute(_WATCHED, values).scalars())
    told = sorted((tenant_id, topic) for tenant_id, topic in noted if tenant_id in watched)
    for tenant_id, topic in told:
        ring(session, tenant_id, topic.id)
    return len(told)


_WATCHED = (
    select(operator.c.tenant_id)
    .join(operator_session, operator_session.c.operator_id == operator.c.operator_id)
    .where(
        operator.c.tenant_id.in_(bindparam("tenants", expanding=True)),
        operator_session.c.expires_at > bindparam("now"),
    )
    .distinct()
)


class Watch(Stream[Pass]):
    """An operator's stream: it remembers for which topics it was rung."""

    __slots__ = ("topics",)

    def __init__(self, *place: Any, **given: Any) -> None:
        super().__init__(*place, **given)
        self.topics: set[Topic] = set()

    def hear(self, ring: Ring) -> bool:
        """Take in a topic; returns whether it woke somebody."""
        if ring.project_id in self.project_ids:
            self.topics.add(TOPICS[ring.project_id])
        return super().hear(ring)

    def take_topics(self) -> list[Topic]:
        """Those since it was last asked, in the order of their names."""
        heard, self.topics = self.topics, set()
        return sorted(heard)

    def doubt(self) -> None:
        """Rings may have gone unheard: have everything that is shown looked at."""
        self.hear(Ring(self.recipient_id, Topic.FIGURES.id))

"""The leases held: when each is to be renewed, when each is over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from restante_agent.runtime.delivery import Delivery, StopReason

# A renewal starts at a third of the lease, so that two more tries fit in before half is gone.
RENEW_FROM, RENEW_TO = 0.28, 0.36
RETRY_SHARE = 0.08
_GONE = (StopReason.LEASE_LOST, StopReason.LEASE_EXPIRED)


@dataclass(slots=True)
class Lease:
    delivery: Delivery
    length: float
    deadline: float
    renew_at: float


class Leases:
    """Pure bookkeeping; instants are monotonic seconds. Not locked: its owner is."""

    def __init__(self, *, random: Random) -> None:
        self._random = random
        self._held: dict[str, Lease] = {}

    def __len__(self) -> int:
        return len(self._held)

    def deliveries(self) -> list[Delivery]:
        return [lease.delivery for lease in self._held.values()]

    def take(self, delivery: Delivery, *, since: float, remaining_seconds: float) -> None:
        deadline = since + remaining_seconds
        self._held[delivery.event.event_id] = Lease(
            delivery=delivery,
            length=remaining_seconds,
            deadline=deadline,
            renew_at=since + remaining_seconds * self._random.uniform(RENEW_FROM, RENEW_TO),
        )
        delivery.extend(deadline)

    def drop(self, delivery: Delivery) -> None:
        held = self._held.get(delivery.event.event_id)
        if held is not None and held.delivery is delivery:
            del self._held[delivery.event.event_id]

    def due(self, now: float) -> list[Delivery]:
        """Leases to renew now; each is put off, so that a failed renewal is tried again soon."""
        found = [
            lease
            for lease in self._held.values()
            if lease.renew_at <= now and lease.delivery.stop_reason not in _GONE
        ]
        for lease in found:
            lease.renew_at = now + max(0.2, lease.length * RETRY_SHARE)
        return [lease.delivery for lease in found]

    def renewed(self, delivery: Delivery, *, since: float, remaining_seconds: float) -> None:
        if self._held.get(delivery.event.event_id) is not None:
            self.take(delivery, since=since, remaining_seconds=remaining_seconds)

    def over(self, now: float) -> list[Delivery]:
        """Deliveries whose lease nobody could renew in time and that were not told yet."""
        return [
            lease.delivery
            for lease in self._held.values()
            if lease.deadline <= now and lease.delivery.stop_reason not in _GONE
        ]

    def next_at(self) -> float:
        """The next instant at which `due` or `over` has something."""
        return min(
            (
                min(lease.renew_at, lease.deadline)
                for lease in self._held.values()
                if lease.delivery.stop_reason not in _GONE
            ),
            default=math.inf,
        )

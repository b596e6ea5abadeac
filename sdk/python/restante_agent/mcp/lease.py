"""A lease as the model knows it: by a name that says nothing and is good for one claim only."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from restante_agent.model.event import ClaimedEvent
from restante_agent.runtime.delivery import Delivery, StopReason


@dataclass(slots=True, eq=False)
class Lease:
    """`touched_at`: monotonic seconds at which the model last spoke of it. `tried`: how it was to end."""

    delivery: Delivery
    touched_at: float
    settling: bool = False
    tried: str | None = None
    name: str = field(default_factory=lambda: f"lease_{secrets.token_hex(6)}")

    @property
    def event(self) -> ClaimedEvent:
        return self.delivery.event

    @property
    def cancel_requested(self) -> bool:
        return self.delivery.stop_reason is StopReason.CANCEL_REQUESTED

"""What a relay has room for: so many turns at once, few of them for receivers that ail. Pure.

So receivers that hang fill their own places and no others, and no tenant fills them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

PLACES = 64
AILING_PLACES = 16
TENANT_PLACES = 32


class Wanting(Protocol):
    """A callback that wants a turn."""

    @property
    def tenant_id(self) -> bytes:
        """Whose it is."""

    @property
    def ails(self) -> bool:
        """Whether its deliveries may well take long."""


T = TypeVar("T", bound=Wanting)


@dataclass(frozen=True, slots=True)
class Room:
    """`free`: turns that may begin now; `ailing`: of them, by receivers that ail; `held`: by tenants."""

    free: int = PLACES
    ailing: int = AILING_PLACES
    held: Mapping[bytes, int] = field(default_factory=dict)

    @classmethod
    def beside(cls, running: Iterable[Wanting]) -> Room:
        """What is left beside these."""
        turns = list(running)
        return cls(
            PLACES - len(turns),
            AILING_PLACES - sum(turn.ails for turn in turns),
            Counter(turn.tenant_id for turn in turns),
        )

    def choose(self, wanting: Sequence[T]) -> tuple[list[T], list[T]]:
        """Those that have a turn now, tenants in turn; and those for which their own places are full.

        Of the others the first come first once there is room.
        """
        chosen: list[T] = []
        full: list[T] = []
        ailing = self.ailing
        for turn in self._in_turn(wanting):
            held = self.held.get(turn.tenant_id, 0)
            theirs = held + sum(one.tenant_id == turn.tenant_id for one in chosen)
            if theirs >= TENANT_PLACES or (turn.ails and ailing <= 0):
                full.append(turn)
            elif len(chosen) < self.free:
                chosen.append(turn)
                ailing -= turn.ails
        return chosen, full

    def _in_turn(self, wanting: Sequence[T]) -> list[T]:
        """The first of each tenant, then the second of each, and so on; those who hold places later."""
        seen = dict(self.held)
        ranked = []
        for turn in wanting:
            rank = seen[turn.tenant_id] = seen.get(turn.tenant_id, 0) + 1
            ranked.append((rank, turn))
        return [turn for _, turn in sorted(ranked, key=lambda one: one[0])]

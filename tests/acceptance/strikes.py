"""When what is killed: drawn from a seed, by progress and not by time, so that no strike comes too late."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass
class Strikes:
    """`due` carries out those whose progress (0 to 1) has come; `done` is what was hit, in order."""

    plan: list[tuple[float, str]]
    carry_out: Mapping[str, Callable[[], str]]
    say: Callable[[str], None]
    done: list[str] = field(default_factory=list)

    @classmethod
    def draw(
        cls,
        numbers: Mapping[str, int],
        carry_out: Mapping[str, Callable[[], str]],
        *,
        seed: int,
        say: Callable[[str], None],
    ) -> Strikes:
        """As many of each kind as `numbers` says, all before the last tenth of the work."""
        draw = random.Random(seed)
        plan = [(draw.uniform(0.02, 0.9), kind) for kind, n in numbers.items() for _ in range(n)]
        return cls(sorted(plan), carry_out, say)

    def due(self, progress: float) -> None:
        """Strike at most once a look, so that work goes on in between."""
        if self.plan and self.plan[0][0] <= progress:
            _, kind = self.plan.pop(0)
            self.done.append(self.carry_out[kind]())
            self.say(f"killed at {progress:4.0%}: {self.done[-1]}")

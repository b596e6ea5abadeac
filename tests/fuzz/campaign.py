"""Everything that is there, shot at: which shots, in which order, and what was found."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.fuzz.grounds import Grounds
from tests.fuzz.judge import Answer, faults
from tests.fuzz.shots import Few, Good, Shot, shots
from tests.http.walk import routes

Gun = Callable[[Shot], Answer]
Target = tuple[Good, frozenset[int] | None]
SAFE = ("GET", "HEAD", "OPTIONS")


@dataclass
class Campaign:
    """Fires at all of the grounds' endpoints; `found` says what was wrong with which answer."""

    grounds: Grounds
    gun: Gun
    seed: int
    most: int
    statuses: Counter[int] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)

    def api(self, part: slice = slice(None)) -> None:
        """Every endpoint that takes a token."""
        for route in routes(self.grounds.world.app)[part]:
            self._all_of(str(route), lambda route=route: self.grounds.of_route(route))

    def pages(self) -> None:
        """OAuth, what is there for all, and the console."""
        self._listed("oauth", lambda: list(self.grounds.oauth()))
        self._listed("public", lambda: [(good, None) for good in self.grounds.public()])
        self._listed("console", lambda: [(good, None) for good in self.grounds.console()])

    def _listed(self, name: str, make: Callable[[], list[Target]]) -> None:
        kept: list[tuple[object, list[Target]]] = []

        def now() -> list[Target]:
            if not kept or kept[0][0] is not self.grounds.home:
                kept[:] = [(self.grounds.home, make())]
            return kept[0][1]

        for number in range(len(now())):
            self._all_of(f"{name} {number}", lambda number=number: now()[number])

    def _all_of(self, name: str, make: Callable[[], Target]) -> None:
        """Fire all shots at one target; once the household is shot to pieces, go on with the next."""
        fired = 0
        while True:
            for number, (shot, documented) in enumerate(self._shots(name, make())):
                if number < fired:
                    continue
                fired += 1
                if self._fire(shot, documented):
                    self.grounds.settle()
                    break
            else:
                return

    def _shots(self, name: str, target: Target) -> Iterator[tuple[Shot, frozenset[int] | None]]:
        few = Few(random.Random(f"{self.seed} {name}"), self.most)
        return ((shot, target[1]) for shot in shots(target[0], few))

    def _fire(self, shot: Shot, documented: frozenset[int] | None) -> bool:
        """Fire one → whether the household is in pieces."""
        answer = self.gun(shot)
        self.statuses[answer.status] += 1
        # another path is another endpoint; and what never came to the application is no answer of one
        is_other = shot.what == "path" or "restante-version" not in answer.fields
        known = None if is_other else documented
        self.found += [
            f"{fault}: {shot}\n  {answer.body[:300]!r}" for fault in faults(answer, known)
        ]
        changed = shot.method not in SAFE and answer.status < 400
        return changed and not self.grounds.is_whole

"""Agents that work together, in plain Python: what the contract says in 5.7, 5.8 and 6.2.

Each has an inbox as in model.py and a memory; they have one room. Work is told of ends once the
transaction that ends events is over (`commit`), as the product does it before its commit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.engine.model import Mail, Model


@dataclass
class Work:
    """An assignment; agents by their place in the list. `due`: (when, which of those set then)."""

    number: int
    policy: str
    named: list[int] | None
    sticky: str | None
    deadline: float | None
    unread: float | None
    most: int
    state: str = "assigned"
    agent: int | None = None
    mail: Mail | None = None
    failed: int = 0
    tried: list[int] = field(default_factory=list)
    due: tuple[float, int] | None = None


@dataclass
class Memory:
    """Of one agent in one project: {key: (value, version)}; a value of None is a tombstone."""

    revision: int = 0
    keys: dict[str, tuple[Any, int]] = field(default_factory=dict)

    def version(self, key: str) -> int | None:
        """None: nothing is there."""
        value, version = self.keys.get(key, (None, 0))
        return None if value is None else version

    def set(self, key: str, value: Any) -> None:
        self.revision += 1
        self.keys[key] = (value, self.revision)

    def merge(self, key: str, patch: Any) -> None:
        self.set(key, merged(self.keys.get(key, (None, 0))[0], patch))

    def live(self) -> dict[str, tuple[Any, int]]:
        return {key: told for key, told in self.keys.items() if told[0] is not None}


def merged(target: Any, patch: Any) -> Any:
    """RFC 7396, section 2."""
    if not isinstance(patch, dict):
        return patch
    whole = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            whole.pop(name, None)
        else:
            whole[name] = merged(whole.get(name), value)
    return whole


class Together:
    """All of them."""

    def __init__(self, agents: int) -> None:
        self.now = 0.0
        self.inboxes = [Model(on_end=self._note) for _ in range(agents)]
        self.memories = [Memory() for _ in range(agents)]
        self.members = set(range(agents))
        self.posts: list[int] = []  # their authors
        self.read = [0] * agents
        self.works: list[Work] = []
        self.stuck: dict[str, int] = {}
        self._ends: list[tuple[Mail, str]] = []
        self._timers = 0

    # Work

    def assign(self, work: Work) -> None:
        self.works.append(work)
        if self._route(work) is None:
            self._end(work, "unroutable")

    def call_off(self, work: Work) -> str:
        if work.state not in ("assigned", "unroutable"):
            return "final"
        over = True
        if work.mail is not None and work.agent is not None:
            asked = self.inboxes[work.agent].cancel(work.mail)
            over = work.state == "unroutable" or asked != "cancel_requested"
        if over:
            self._end(work, "cancelled")
        self._ends.clear()
        return "over" if over else "asked"

    def commit(self) -> None:
        """Events have ended: whose work they were goes on, or is over."""
        ends, self._ends = self._ends, []
        for mail, status in sorted(ends, key=lambda end: end[0].work.number):
            work = mail.work
            if work.mail is not mail:
                continue
            if status == "completed" and work.state in ("assigned", "unroutable"):
                self._end(work, "completed")
            elif work.state == "assigned" and status == "quarantined":
                self._fail(work)
            elif work.state == "assigned":
                self._end(work, status)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        for inbox in self.inboxes:
            inbox.now = self.now
        for inbox in self.inboxes:
            inbox.run_due()
            self.commit()
        ripe = [w for w in self.works if w.due is not None and w.due[0] <= self.now]
        for work in sorted(ripe, key=lambda w: w.due or (0, 0)):
            mail, agent = work.mail, work.agent
            assert mail is not None
            assert agent is not None
            work.due = None
            if mail.status == "pending" and not mail.generation:
                self.inboxes[agent].cancel(mail)
                self._ends.clear()
                self._route_on(work)

    def _note(self, mail: Mail, status: str) -> None:
        if mail.work is not None:
            self._ends.append((mail, status))

    def _fail(self, work: Work) -> None:
        work.failed += 1
        if work.failed >= work.most:
            self._end(work, "unroutable")
        elif work.mail is not None:
            # its work goes on elsewhere, unless nobody is left
            before = work.mail
            before.superseded = self._route_on(work)

    def _route_on(self, work: Work) -> bool:
        if work.deadline is not None and work.deadline <= self.now:
            self._end(work, "expired")
            return False
        if self._route(work) is None:
            self._end(work, "unroutable")
            return False
        return True

    def _route(self, work: Work) -> int | None:
        chosen = self._choose(work)
        if chosen is None:
            return None
        work.agent = chosen
        work.tried.append(chosen)
        work.mail = self.inboxes[chosen].deliver(expires=work.deadline, work=work)
        work.due = None
        if work.unread is not None:
            self._timers += 1
            work.due = (self.now + work.unread, self._timers)
        if work.sticky is not None:
            self.stuck[work.sticky] = chosen
        return chosen

    def _choose(self, work: Work) -> int | None:
        named: Sequence[int] = range(len(self.inboxes)) if work.named is None else work.named
        eligible = [agent for agent in named if agent not in work.tried]
        if not eligible:
            return None
        if work.policy == "in_order":
            return eligible[0]
        if work.policy == "sticky" and self.stuck.get(work.sticky or "") in eligible:
            return self.stuck[work.sticky or ""]
        return min(eligible, key=lambda agent: (self.load(agent), agent))

    def load(self, agent: int) -> int:
        return sum(mail.status == "pending" for mail in self.inboxes[agent].all)

    def _end(self, work: Work, state: str) -> None:
        work.state, work.due = state, None

    # Rooms and turns

    def post(self, author: int) -> None:
        self.posts.append(author)
        for agent in sorted(self.members - {author}):
            self.inboxes[agent].deliver()

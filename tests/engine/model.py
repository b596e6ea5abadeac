"""An inbox in plain Python: what the contract's section 2 says, without a database.

Times are whole thousands of seconds, lengths end in 500, so that nothing is due just now. One
project, no jitter (`backoff` is zero), keys are skipped over quarantined heads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

FINAL = ("completed", "cancelled", "expired")


@dataclass
class Mail:
    """One event; `wakes`: when its lease, delay or schedule ends."""

    number: int
    priority: int
    key: str | None
    status: str
    max_attempts: int
    expires: float | None
    sequence: int | None = None
    generation: int = 0
    attempts: int = 0
    wakes: float | None = None
    asked_to_cancel: bool = False
    redriven: bool = False
    # what it is an assignment's event of (together.py); a commit passes it over
    work: Any = None
    superseded: bool = False


@dataclass
class Model:
    """The inbox. Events are named by the number under which they were published."""

    now: float = 0
    head: int = 0
    all: list[Mail] = field(default_factory=list)
    fences: Counter[str] = field(default_factory=Counter)
    on_end: Callable[[Mail, str], None] = lambda *_: None

    def publish(
        self,
        *,
        priority: int,
        key: str | None,
        max_attempts: int,
        delay: float | None,
        expires: float | None,
    ) -> Mail:
        starts = self.now + (delay or 0)
        mail = Mail(
            number=len(self.all),
            priority=priority,
            key=key,
            status="scheduled" if delay else "pending",
            max_attempts=max_attempts,
            expires=None if expires is None else starts + expires,
            wakes=starts if delay else None,
        )
        self.all.append(mail)
        if not delay:
            self._arrive(mail)
        return mail

    def deliver(self, *, expires: float | None = None, work: Any = None) -> Mail:
        """What nobody has published by itself: at once, for one attempt. `expires`: when."""
        mail = Mail(len(self.all), 0, None, "pending", 1, expires, work=work)
        self.all.append(mail)
        self._arrive(mail)
        return mail

    def claimable(self) -> list[Mail]:
        """In the order in which a claim takes them."""
        found = [m for m in self.all if m.status == "pending" and m.wakes is None]
        return sorted(
            (m for m in found if self._is_head(m)), key=lambda m: (-m.priority, m.sequence)
        )

    def claim(self, limit: int, lease: float) -> list[tuple[Mail, int | None]]:
        """The events taken, each with its fence."""
        taken = self.claimable()[:limit]
        told = []
        for mail in taken:
            mail.status, mail.wakes = "claimed", self.now + lease
            mail.generation += 1
            mail.attempts += 1
            if mail.key is not None:
                self.fences[mail.key] += 1
            told.append((mail, None if mail.key is None else self.fences[mail.key]))
        return told

    def holds(self, mail: Mail, generation: int) -> bool:
        return mail.status == "claimed" and mail.generation == generation

    def ack(self, mail: Mail) -> None:
        self._end(mail, "completed")

    def release(self, mail: Mail, delay: float | None, *, failed: bool) -> None:
        if mail.asked_to_cancel:
            self._end(mail, "cancelled")
        elif failed:
            self._fail(mail, delay)
        elif self._is_late(mail):
            self._end(mail, "expired")
        else:
            mail.attempts -= 1
            self._back(mail, delay)

    def reject(self, mail: Mail) -> None:
        self._end(mail, "cancelled" if mail.asked_to_cancel else "quarantined")

    def renew(self, mail: Mail, lease: float) -> None:
        mail.wakes = self.now + lease

    def cancel(self, mail: Mail) -> str:
        if mail.status in FINAL:
            return "final"
        if mail.status == "claimed":
            mail.asked_to_cancel = True
            return "cancel_requested"
        self._end(mail, "cancelled")
        return "cancelled"

    def redrive(self, mail: Mail) -> None:
        mail.status, mail.attempts, mail.redriven = "pending", 0, True
        if self._is_late(mail):
            mail.expires = None
        self._queue(mail)

    def commit(self, through: int) -> int:
        done = [
            m
            for m in self.all
            if m.status == "pending"
            and m.generation == 0
            and (m.sequence or 0) <= through
            and m.work is None
        ]
        for mail in done:
            self._end(mail, "completed")
        return len(done)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.run_due()

    def run_due(self) -> None:
        due = [m for m in self.all if m.status == "scheduled" and (m.wakes or 0) <= self.now]
        for mail in sorted(due, key=lambda m: (m.wakes, m.number)):
            mail.status, mail.wakes = "pending", None
            self._arrive(mail)
        for mail in self.all:
            if mail.status == "claimed" and (mail.wakes or 0) <= self.now:
                if mail.asked_to_cancel:
                    self._end(mail, "cancelled")
                else:
                    self._fail(mail, 0)
            elif mail.status == "pending" and self._is_late(mail):
                self._end(mail, "expired")
            elif mail.status == "pending" and mail.wakes is not None and mail.wakes <= self.now:
                mail.wakes = None

    # Keys: who is head is worked out anew each time: the order of joining, but for who is head.

    def _queue(self, mail: Mail) -> None:
        line = self._line(mail)
        if line is not None and mail not in line:
            line.append(mail)
            line[1:] = sorted(line[1:], key=lambda m: m.sequence or 0)

    def _line(self, mail: Mail) -> list[Mail] | None:
        return None if mail.key is None else self._lines.setdefault(mail.key, [])

    def _is_head(self, mail: Mail) -> bool:
        line = self._line(mail)
        return line is None or line[0] is mail

    def _arrive(self, mail: Mail) -> None:
        self.head += 1
        mail.sequence = self.head
        self._queue(mail)

    def _end(self, mail: Mail, status: str) -> None:
        mail.status, mail.wakes = status, None
        line = self._line(mail)
        if line is not None and mail in line:
            line.remove(mail)
        self.on_end(mail, status)

    def _fail(self, mail: Mail, delay: float | None) -> None:
        if mail.attempts >= mail.max_attempts:
            self._end(mail, "quarantined")
        elif self._is_late(mail):
            self._end(mail, "expired")
        else:
            self._back(mail, delay)

    def _back(self, mail: Mail, delay: float | None) -> None:
        mail.status, mail.wakes = "pending", self.now + delay if delay else None

    def _is_late(self, mail: Mail) -> bool:
        return mail.expires is not None and mail.expires <= self.now

    def __post_init__(self) -> None:
        self._lines: dict[str, list[Mail]] = {}

"""Every step of the lifecycle's table happens, and none that is not in it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from restante.errors import RestanteError
from restante.inbox.commit import commit_through
from restante.inbox.failures import Failure
from restante.inbox.lifecycle import STATUS_OF, TRANSITIONS, Status, Verb
from restante.inbox.orders import Ack, Reject, Release
from tests.engine.gallery import hang
from tests.factories import Mailbox, Tenant, pass_time, set_rules

Steps = set[tuple[Status, Verb, Status]]
BOOM = Failure("boom", "it broke")


def status(mail: Mailbox, event: bytes) -> Status:
    return Status(mail.read(event)["status"])


class Walk:
    """Takes steps with events of one inbox and notes which they were."""

    def __init__(self, mail: Mailbox) -> None:
        self.mail = mail
        self.steps: Steps = set()
        self._priority = 100

    def step(self, verb: Verb, event: bytes, act: Callable[[], Any]) -> None:
        row = self.mail.gate(event)
        assert row is not None
        before = STATUS_OF[row]
        act()
        after = self.mail.gate(event)
        self.steps.add((before, verb, Status.EXPIRED if after is None else STATUS_OF[after]))

    def pending(self, **members: Any) -> bytes:
        return self.mail.publish(backoff=(0.0, 0.0), **members).event_id

    def claimed(self, seconds: int = 10, *, asked: bool = False, **members: Any) -> bytes:
        self._priority += 1  # above all that came back to be claimed again
        event = self.pending(priority=self._priority, **members)
        self.step(Verb.CLAIM, event, lambda: self.mail.take(limit=1, lease_seconds=seconds))
        if asked:
            self.mail.cancel(event)
        return event

    def quarantined(self) -> bytes:
        event = self.claimed()
        self.step(Verb.REJECT, event, lambda: self.mail.settle(Reject(event, 1, "never")))
        return event

    def late(self, seconds: float) -> None:
        pass_time(self.mail.database, seconds)


def test_every_step_happens_and_no_other(mail: Mailbox) -> None:
    set_rules(mail.database, max_releases=0)
    walk = Walk(mail)
    scheduled = mail.publish(delay_seconds=5, priority=-9).event_id
    walk.late(5)
    walk.step(Verb.DUE, scheduled, mail.run_due)
    unscheduled = mail.publish(delay_seconds=5).event_id
    walk.step(Verb.CANCEL, unscheduled, lambda: mail.cancel(unscheduled))
    for event in (walk.pending(), walk.quarantined()):
        walk.step(Verb.CANCEL, event, lambda e=event: mail.cancel(e))
    expiring = walk.pending(expires_in_seconds=5)
    walk.late(5)
    walk.step(Verb.EXPIRE, expiring, mail.run_due)
    acked = walk.claimed()
    walk.step(Verb.ACK, acked, lambda: mail.settle(Ack(acked, 1)))
    redriven, discarded = walk.quarantined(), walk.quarantined()
    walk.step(Verb.REDRIVE, redriven, lambda: mail.redrive(redriven))
    walk.step(Verb.DISCARD, discarded, lambda: mail.discard(discarded))
    rejected = walk.claimed(asked=True)
    walk.step(Verb.REJECT, rejected, lambda: mail.settle(Reject(rejected, 1, "never")))
    over = walk.claimed(5)
    walk.late(5)
    walk.step(Verb.CANCEL, over, lambda: mail.cancel(over))
    releases = [
        (walk.claimed(), Release, (None, BOOM)),
        (walk.claimed(max_attempts=1), Release, (None, BOOM)),
        (walk.claimed(), Release, (None, None)),
        (walk.claimed(asked=True), Release, (None, None)),
    ]
    for event, order, rest in releases:
        told = order(event, 1, *rest)
        walk.step(Verb.RELEASE, event, lambda o=told: mail.settle(o))
    tardy = walk.claimed(60, expires_in_seconds=5)
    walk.late(6)
    walk.step(Verb.RELEASE, tardy, lambda: mail.settle(Release(tardy, 1)))
    for members in (
        {},
        {"max_attempts": 1},
        {"asked": True},
        {"expires_in_seconds": 5},
    ):
        event = walk.claimed(7, **members)
        walk.late(8)
        walk.step(Verb.LEASE_END, event, mail.run_due)
    committed = walk.pending(priority=-50)
    through = mail.inbox_row().head
    walk.step(
        Verb.COMMIT,
        committed,
        lambda: mail.run(lambda s: commit_through(s, mail.agent, through, None)),
    )
    old = walk.pending(priority=-50)
    walk.late(31 * 86_400)
    walk.step(Verb.RETENTION, old, lambda: (mail.run_due(), mail.retain()))
    coded = {(before, verb, end) for (before, verb), ends in TRANSITIONS.items() for end in ends}
    assert walk.steps == coded


def test_a_step_that_is_not_in_the_table_changes_no_state(tenant: Tenant) -> None:
    """Each verb on an event in each state that it does not start from."""
    starts = {verb: {s for s, v in TRANSITIONS if v is verb} for verb in Verb}
    mail = tenant.agent()
    hung = hang(mail)
    acts: dict[Verb, Callable[[bytes], Any]] = {
        Verb.ACK: lambda e: mail.settle(Ack(e, 1)),
        Verb.RELEASE: lambda e: mail.settle(Release(e, 1)),
        Verb.REJECT: lambda e: mail.settle(Reject(e, 1, "never")),
        Verb.CANCEL: mail.cancel,
        Verb.REDRIVE: mail.redrive,
        Verb.DISCARD: mail.discard,
        Verb.DUE: lambda _: mail.run_due(),
        Verb.RETENTION: lambda _: mail.retain(),
    }
    wrong = []
    for name, event in hung.items():
        for verb, act in acts.items():
            before = status(mail, event)
            if before in starts[verb]:
                continue
            with suppress(RestanteError):
                act(event)
            if status(mail, event) != before:
                wrong.append((name, verb))
    assert not wrong

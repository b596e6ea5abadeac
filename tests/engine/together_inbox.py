"""Agents with their inboxes against the model of together.py: the verbs of an inbox, and time."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sqlalchemy import select

from restante.coordination.rerouting import due_assignments, run_timer
from restante.coordination.rooms import create_room
from restante.errors import EventFinal, StaleClaim
from restante.inbox.commit import commit_through
from restante.inbox.failures import Failure
from restante.inbox.lifecycle import STATUS_OF, Gate
from restante.inbox.orders import Ack, Order, Reject, Release, Renew
from restante.inbox.quarantine import Superseded
from restante.storage.tables.events import agent_inbox, scheduled_event
from tests.engine.model import Mail
from tests.engine.remembering import keeper, scribe
from tests.engine.together import Together
from tests.factories import Mailbox, Tenant, make_tenant, pass_time
from tests.support.databases import TestDatabase

AGENTS = 3
WHO = st.integers(0, AGENTS - 1)
LENGTHS = st.sampled_from([500.0, 1500.0, 2500.0])
PICK = st.integers(0, 10_000)
OFF = st.sampled_from([0, 0, 0, -1])


_FINAL = ("completed", "cancelled", "expired")
_ALL = ("scheduled", "pending", "claimed", "quarantined", *_FINAL)


class Inboxes(RuleBasedStateMachine):
    """Every rule is a verb, on the database and on the model."""

    database: TestDatabase

    def __init__(self) -> None:
        super().__init__()
        self.database.clock_offset *= 0
        self.tenant: Tenant = make_tenant(self.database, "p")
        self.mails: list[Mailbox] = sorted(
            (keeper(self.tenant) for _ in range(AGENTS)), key=lambda m: m.id
        )
        self.scribe = scribe(self.tenant)
        self.model = Together(AGENTS)
        self.ids: list[dict[int, bytes]] = [{} for _ in range(AGENTS)]
        self.works: list[bytes] = []
        first = self.mails[0]
        ids = [mail.id for mail in self.mails]
        self.room = first.run(
            lambda s: create_room(s, first.agent, project="p", name="r", members=ids)
        )

    def pick(self, number: int, *statuses: str) -> tuple[int, Mail]:
        """An agent and one of its events in these states: every other time an assignment's."""
        some = [(w, m) for w, m in self.all() if m.status in statuses]
        work = [(w, m) for w, m in some if m.work is not None]
        chosen = work if number % 2 and work else some
        return chosen[number // 2 % len(chosen)]

    def all(self) -> list[tuple[int, Mail]]:
        return [(w, mail) for w, inbox in enumerate(self.model.inboxes) for mail in inbox.all]

    def has(self, *statuses: str) -> bool:
        return any(mail.status in statuses for _, mail in self.all())

    # The inbox

    @rule(
        to=st.sets(WHO, min_size=1),
        priority=st.sampled_from([0, 0, -5]),
        key=st.sampled_from([None, "k"]),
        delay=st.none() | LENGTHS,
        expires=st.none() | LENGTHS,
    )
    def publish(self, to: set[int], **members: Any) -> None:
        members["max_attempts"] = 1
        made = [self.model.inboxes[who].publish(**members) for who in sorted(to)]
        published = self.mails[0].publish_many(
            [
                self.mails[0].publication(
                    recipients=tuple(self.mails[who].id for who in sorted(to)),
                    priority=members["priority"],
                    ordering_key=members["key"],
                    delay_seconds=members["delay"],
                    expires_in_seconds=members["expires"],
                )
            ]
        )
        for who, mail, event in zip(sorted(to), made, published, strict=True):
            self.ids[who][mail.number] = event.event_id
            assert event.sequence_number == mail.sequence

    @precondition(lambda self: self.has("pending"))
    @rule(number=PICK, limit=st.sampled_from([1, 3, 20, 20]), lease=LENGTHS)
    def claim_some(self, number: int, limit: int, lease: float) -> None:
        self.claim(self.pick(number, "pending")[0], limit, lease)

    def claim(self, who: int, limit: int, lease: float) -> None:
        expected = self.model.inboxes[who].claim(limit, lease)
        taken = self.mails[who].take(limit=limit, lease_seconds=int(lease))
        told = [(e.id, e.generation, e.told["fence"]) for e in taken]
        assert told == [(self.ids[who][m.number], m.generation, f) for m, f in expected]

    def settle(self, who: int, mail: Mail, order: Order) -> bool:
        """Give the order; tell whether it must have been carried out."""
        held = self.model.inboxes[who].holds(mail, order.claim_generation)
        (answer,) = self.mails[who].settle(order)
        repeats = isinstance(order, Ack) and mail.status == "completed"
        repeats &= mail.generation == order.claim_generation > 0
        assert isinstance(answer, dict if held or repeats else StaleClaim), answer
        return held

    @precondition(lambda self: self.has("claimed", "completed"))
    @rule(number=PICK, off=OFF, verb=st.sampled_from(["ack", "ack", "reject", "reject", "renew"]))
    def end(self, number: int, off: int, verb: str) -> None:
        statuses = ("claimed", "completed") if number % 7 == 0 else ("claimed",)
        who, mail = self.pick(number, *statuses if self.has("claimed") else ("completed",))
        event_id, generation = self.ids[who][mail.number], mail.generation + off
        inbox = self.model.inboxes[who]
        if verb == "ack" and self.settle(who, mail, Ack(event_id, generation)):
            inbox.ack(mail)
        elif verb == "reject" and self.settle(who, mail, Reject(event_id, generation, "no")):
            inbox.reject(mail)
        elif verb == "renew" and self.settle(who, mail, Renew(event_id, generation, 1500)):
            inbox.renew(mail, 1500)
        self.model.commit()

    @precondition(lambda self: self.has("pending", "claimed"))
    @rule(number=PICK, acks=st.booleans())
    def end_many(self, number: int, *, acks: bool) -> None:
        """All that an agent can have, in one transaction."""
        who, _ = self.pick(number, "pending", "claimed")
        self.claim(who, limit=100, lease=2500)
        inbox, ids = self.model.inboxes[who], self.ids[who]
        held = [mail for mail in inbox.all if mail.status == "claimed"]
        orders: list[Order] = [
            Ack(ids[m.number], m.generation) if acks else Reject(ids[m.number], m.generation, "no")
            for m in held
        ]
        answers = self.mails[who].settle(*orders)
        assert [isinstance(answer, dict) for answer in answers] == [True] * len(held)
        for mail in held:
            (inbox.ack if acks else inbox.reject)(mail)
        self.model.commit()

    @precondition(lambda self: self.has("claimed"))
    @rule(number=PICK, delay=st.none() | LENGTHS, failed=st.booleans())
    def release(self, number: int, delay: float | None, *, failed: bool) -> None:
        who, mail = self.pick(number, "claimed")
        error = Failure("boom", "it broke") if failed else None
        order = Release(self.ids[who][mail.number], mail.generation, delay, error)
        if self.settle(who, mail, order):
            self.model.inboxes[who].release(mail, delay, failed=failed)
        self.model.commit()

    @precondition(lambda self: self.all())
    @rule(number=PICK)
    def cancel(self, number: int) -> None:
        statuses = ("scheduled", "claimed", "quarantined", *_FINAL, "pending")[number % 7 :]
        who, mail = self.pick(number, *statuses if self.has(*statuses) else _ALL)
        try:
            answer = self.mails[who].cancel(self.ids[who][mail.number])
        except EventFinal:
            answer = "final"
        assert answer == self.model.inboxes[who].cancel(mail)
        self.model.commit()

    @precondition(lambda self: self.has("quarantined"))
    @rule(number=PICK)
    def redrive(self, number: int) -> None:
        who, mail = self.pick(number, "quarantined")
        event_id = self.ids[who][mail.number]
        if mail.superseded:
            with pytest.raises(Superseded):
                self.mails[who].redrive(event_id, force=True)
        else:
            self.model.inboxes[who].redrive(mail)
            self.mails[who].redrive(event_id, force=True)

    @rule(who=WHO, back=st.integers(0, 3))
    def commit(self, who: int, back: int) -> None:
        mail, inbox = self.mails[who], self.model.inboxes[who]
        through = max(0, inbox.head - back)
        done = mail.run(lambda s: commit_through(s, mail.agent, through, None))
        assert done == (inbox.commit(through), False)

    # Time

    @rule(thousands=st.sampled_from([1, 1, 1, 2, 3]))
    def time(self, thousands: int) -> None:
        pass_time(self.database, thousands * 1000)
        for mail in self.mails:
            mail.run_due()
        # those of earlier examples lie there as well
        for due in self.database.run(lambda s: due_assignments(s, limit=10_000)):
            if due in self.works:
                self.database.run(lambda s, due=due: run_timer(s, due))
        self.model.pass_time(thousands * 1000)

    @invariant()
    def same_inboxes(self) -> None:
        ids = [mail.id for mail in self.mails]
        rows, waiting = (
            self.database.run(
                lambda s, t=table: (
                    s.connection().execute(select(t).where(t.c.recipient_id.in_(ids))).all()
                )
            )
            for table in (agent_inbox, scheduled_event)
        )
        scheduled = {row.event_id: STATUS_OF[Gate(row.gate)] for row in waiting}
        for who, inbox in enumerate(self.model.inboxes):
            mine = {r.sequence_number: r for r in rows if r.recipient_id == ids[who]}
            assert sorted(mine) == list(range(1, inbox.head + 1))
            for mail in inbox.all:
                if mail.sequence is None:
                    assert scheduled[self.ids[who][mail.number]] == mail.status
                    continue
                row = mine[mail.sequence]
                assert self.ids[who].setdefault(mail.number, row.event_id) == row.event_id
                seen = (STATUS_OF[Gate(row.gate)], row.attempts, row.claim_generation)
                assert seen == (mail.status, mail.attempts, mail.generation)
                assert bool(row.claim_only) == (mail.work is not None)
            claimable = {m.sequence for m in inbox.claimable()}
            assert {n for n, r in mine.items() if r.gate == Gate.CLAIMABLE} == claimable

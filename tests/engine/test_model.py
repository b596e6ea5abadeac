"""The inbox against its model: any order of verbs, the same states, numbers, fences and answers."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import orjson
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from sqlalchemy import select

from restante.errors import EventFinal, StaleClaim
from restante.inbox.commit import commit_through
from restante.inbox.failures import Failure
from restante.inbox.lifecycle import STATUS_OF, Gate
from restante.inbox.orders import Ack, Order, Reject, Release, Renew
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.inboxes import ordering_key, ordering_waiting
from tests.engine.model import Mail, Model
from tests.factories import Event, Tenant, make_tenant, pass_time
from tests.support.databases import TestDatabase

LENGTHS = st.sampled_from([500.0, 1500.0, 2500.0])
PICK = st.integers(0, 10_000)


class Inbox(RuleBasedStateMachine):
    """Every rule is a verb, on the inbox and on its model."""

    tenant: Tenant

    def __init__(self) -> None:
        super().__init__()
        self.mail = self.tenant.agent("p")
        self.tenant.database.clock_offset *= 0
        self.model = Model()
        self.ids: list[bytes] = []

    def pick(self, number: int, *statuses: str) -> Mail:
        """One of the events in these states, or any where there is none."""
        some = [m for m in self.model.all if m.status in statuses] or self.model.all
        return some[number % len(some)]

    @rule(
        priority=st.sampled_from([0, 0, 0, -5, 9]),
        key=st.sampled_from([None, None, "k", "l"]),
        max_attempts=st.integers(1, 3),
        delay=st.none() | LENGTHS,
        expires=st.none() | st.none() | LENGTHS,
    )
    def publish(self, **members: Any) -> None:
        made = self.model.publish(**members)
        published = self.mail.publish(
            priority=members["priority"],
            ordering_key=members["key"],
            max_attempts=members["max_attempts"],
            delay_seconds=members["delay"],
            expires_in_seconds=members["expires"],
            backoff=(0.0, 0.0),
        )
        self.ids.append(published.event_id)
        assert published.sequence_number == made.sequence

    @rule(limit=st.integers(1, 4), lease=LENGTHS)
    def claim(self, limit: int, lease: float) -> None:
        expected = self.model.claim(limit, lease)
        taken = self.mail.take(limit=limit, lease_seconds=int(lease))
        told = [(e.id, e.generation, e.told["attempts"], e.told["fence"]) for e in taken]
        assert told == [(self.ids[m.number], m.generation, m.attempts, f) for m, f in expected]

    def settle(self, mail: Mail, generation: int, order: Order) -> bool:
        """Give the order; tell whether it must have been carried out."""
        held = self.model.holds(mail, generation)
        (answer,) = self.mail.settle(order)
        repeats = isinstance(order, Ack) and mail.status == "completed"
        repeats &= mail.generation == generation > 0
        assert isinstance(answer, dict if held or repeats else StaleClaim), answer
        return held

    @precondition(lambda self: self.model.all)
    @rule(number=PICK, off=st.sampled_from([0, 0, 0, -1, 1]))
    def ack(self, number: int, off: int) -> None:
        mail = self.pick(number, "claimed")
        generation = mail.generation + off
        if self.settle(mail, generation, Ack(self.ids[mail.number], generation)):
            self.model.ack(mail)

    @precondition(lambda self: self.model.all)
    @rule(
        number=PICK,
        off=st.sampled_from([0, 0, 0, -1]),
        delay=st.none() | LENGTHS,
        failed=st.booleans(),
    )
    def release(self, number: int, off: int, delay: float | None, *, failed: bool) -> None:
        mail = self.pick(number, "claimed")
        generation = mail.generation + off
        error = Failure("boom", "it broke") if failed else None
        order = Release(self.ids[mail.number], generation, delay, error)
        if self.settle(mail, generation, order):
            self.model.release(mail, delay, failed=failed)

    @precondition(lambda self: self.model.all)
    @rule(number=PICK)
    def reject(self, number: int) -> None:
        mail = self.pick(number, "claimed")
        if self.settle(mail, mail.generation, Reject(self.ids[mail.number], mail.generation, "no")):
            self.model.reject(mail)

    @precondition(lambda self: self.model.all)
    @rule(number=PICK, lease=LENGTHS)
    def renew(self, number: int, lease: float) -> None:
        mail = self.pick(number, "claimed")
        order = Renew(self.ids[mail.number], mail.generation, int(lease))
        if self.settle(mail, mail.generation, order):
            self.model.renew(mail, lease)

    @precondition(lambda self: self.model.all)
    @rule(number=PICK)
    def cancel(self, number: int) -> None:
        mail = self.pick(number, "scheduled", "pending", "claimed", "quarantined")
        try:
            answer = self.mail.cancel(self.ids[mail.number])
        except EventFinal:
            answer = "final"
        assert answer == self.model.cancel(mail)

    @precondition(lambda self: any(m.status == "quarantined" for m in self.model.all))
    @rule(number=PICK)
    def redrive(self, number: int) -> None:
        mail = self.pick(number, "quarantined")
        self.model.redrive(mail)
        self.mail.redrive(self.ids[mail.number], force=True)

    @rule(back=st.integers(0, 3))
    def commit(self, back: int) -> None:
        through = max(0, self.model.head - back)
        done = self.mail.run(lambda s: commit_through(s, self.mail.agent, through, None))
        assert done == (self.model.commit(through), False)

    @rule(thousands=st.integers(1, 3))
    def time(self, thousands: int) -> None:
        self.model.pass_time(thousands * 1000)
        pass_time(self.tenant.database, thousands * 1000)
        self.mail.run_due()

    @invariant()
    def same_states(self) -> None:
        rows = self.mail.run(
            lambda s: (
                s.connection()
                .execute(select(agent_inbox).where(agent_inbox.c.recipient_id == self.mail.id))
                .all()
            )
        )
        by_id = {row.event_id: row for row in rows}
        for mail, event_id in zip(self.model.all, self.ids, strict=True):
            row = by_id.get(event_id)
            if mail.sequence is None:
                assert row is None
                gate = self.mail.gate(event_id)
                assert gate is not None
                assert STATUS_OF[gate] == mail.status
                continue
            assert row is not None
            seen = (STATUS_OF[Gate(row.gate)], row.sequence_number, row.attempts)
            assert seen == (mail.status, mail.sequence, mail.attempts)
            assert (row.claim_generation, bool(row.redriven)) == (mail.generation, mail.redriven)
        assert len(rows) == self.model.head == self.mail.inbox_row().head
        self.same_keys(rows)

    def same_keys(self, rows: Any) -> None:
        """A key's head and who waits for it stand in its own rows too."""
        claimable = {self.ids[m.number] for m in self.model.claimable()}
        assert {r.event_id for r in rows if r.gate == Gate.CLAIMABLE} == claimable
        heads = {r.sequence_number for r in rows if r.key_hash and r.gate in (1, 3, 4)}
        waiting = {r.sequence_number for r in rows if r.gate == Gate.WAITING}

        def numbers(column: Any) -> set[int]:
            query = select(column).where(column.table.c.recipient_id == self.mail.id)
            found = self.mail.run(lambda s: s.connection().execute(query).scalars().all())
            return {number for number in found if number is not None}

        assert numbers(ordering_key.c.head_sequence) == heads
        assert numbers(ordering_waiting.c.sequence_number) == waiting

    @invariant()
    def same_page(self) -> None:
        page = self.mail.page(limit=500)
        told = [Event.of(text).told for text in page.events]
        expected = sorted((m for m in self.model.all if m.sequence), key=lambda m: m.sequence or 0)
        assert [e["status"] for e in told] == [m.status for m in expected]
        assert page.claimable == len(self.model.claimable())
        assert orjson.dumps(told)


@pytest.mark.timeout(600)
def test_the_inbox_does_what_its_model_does(database: TestDatabase) -> None:
    on_servers = database.kind != "sqlite"
    machine = type("Inbox", (Inbox,), {"tenant": make_tenant(database)})
    run_machine(
        machine,
        settings=settings(
            max_examples=max(4, settings().max_examples // (12 if on_servers else 4)),
            stateful_step_count=15 if on_servers else 30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

"""Inbox and coordination against their model, together: any order of verbs, the same rows and answers.

HYPOTHESIS_PROFILE=thorough runs thousands of steps.
"""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import orjson
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from sqlalchemy import select

from restante.coordination import assignments
from restante.coordination.memory import Put, Write
from restante.coordination.posts import add_post, list_posts
from restante.coordination.rerouting import on_end
from restante.coordination.rooms import add_member, remove_member
from restante.coordination.routing import Policy
from restante.coordination.turn import Turn, take_turn
from restante.errors import EventFinal, NotFound, TurnConflict, ValidationFailed, VersionConflict
from restante.inbox.ends import ON_END
from restante.inbox.orders import Ack
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.assignments import assignment
from tests.engine import remembering
from tests.engine.remembering import since, state, version
from tests.engine.together import Work
from tests.engine.together_inbox import OFF, PICK, WHO, Inboxes
from tests.factories import set_rules
from tests.support.databases import TestDatabase

KEYS = st.sampled_from(["a", "b"])
VALUES = st.sampled_from([0, "x", {"n": 1}, {"n": {"m": None}}])


class Agents(Inboxes):
    """The verbs of work, rooms, memory and turns besides."""

    @initialize(
        policy=st.sampled_from(Policy),
        unread=st.sampled_from([None, 500.0, 1500.0]),
        works=st.integers(0, 4),
        claims=st.booleans(),
    )
    def begin(self, policy: Policy, unread: float | None, works: int, *, claims: bool) -> None:
        """With work for all of them, which some have begun."""
        told = {"sticky": "s", "deadline": None, "unread": unread, "most": 3}
        for _ in range(works):
            self.assign(policy, None, **told)
        self.same_inboxes()
        if claims:
            self.claim(0, limit=4, lease=2500)

    # Work

    @rule(
        policy=st.sampled_from(Policy),
        named=st.none() | st.lists(WHO, min_size=1, unique=True),
        sticky=st.sampled_from(["s", "t"]),
        deadline=st.sampled_from([None, None, 1500.0, 2500.0]),
        unread=st.sampled_from([None, 500.0, 500.0, 1500.0]),
        most=st.integers(1, 3),
    )
    def assign_some(self, policy: Policy, named: list[int] | None, **told: Any) -> None:
        self.assign(policy, named, **told)

    def assign(self, policy: Policy, named: list[int] | None, **told: Any) -> None:
        sticky = told["sticky"] if policy is Policy.STICKY else None
        asked = assignments.Work(
            project="p",
            payload=b"{}",
            candidates=None if named is None else tuple(self.mails[who].id for who in named),
            policy=policy,
            sticky_key=sticky,
            deadline_seconds=told["deadline"],
            unread_timeout_seconds=told["unread"],
            max_candidates=told["most"],
        )
        service = self.tenant.service
        self.works.append(self.database.run(lambda s: assignments.assign(s, service, asked)))
        ends = None if told["deadline"] is None else self.model.now + told["deadline"]
        number, unread, most = len(self.works), told["unread"], told["most"]
        self.model.assign(Work(number, policy, named, sticky, ends, unread, most))

    @precondition(lambda self: self.works)
    @rule(number=PICK)
    def call_off(self, number: int) -> None:
        number %= len(self.works)
        service = self.tenant.service
        try:
            over = self.database.run(
                lambda s: assignments.cancel(s, service, self.works[number], "no longer")
            )
            answer = "over" if over else "asked"
        except EventFinal:
            answer = "final"
        assert answer == self.model.call_off(self.model.works[number])

    # Rooms

    @rule(who=WHO)
    def post(self, who: int) -> None:
        agent = self.mails[who].agent
        if who in self.model.members:
            self.model.post(who)
            number = self.database.run(
                lambda s: add_post(s, agent, self.room, b'"x"', most_bytes=1000)
            )
            assert number == len(self.model.posts)
        else:
            with pytest.raises(NotFound):
                self.database.run(lambda s: add_post(s, agent, self.room, b'"x"', most_bytes=1000))

    @rule(by=WHO, who=WHO, joins=st.booleans())
    def move(self, by: int, who: int, *, joins: bool) -> None:
        verb = add_member if joins else remove_member
        agent, guest = self.mails[by].agent, self.mails[who].id
        if by not in self.model.members:
            with pytest.raises(NotFound):
                self.database.run(lambda s: verb(s, agent, self.room, guest))
            return
        self.database.run(lambda s: verb(s, agent, self.room, guest))
        (self.model.members.add if joins else self.model.members.discard)(who)

    @rule(who=WHO, after=st.integers(0, 5))
    def read_posts(self, who: int, after: int) -> None:
        if who not in self.model.members:
            return
        agent = self.mails[who].agent
        if after > len(self.model.posts):
            with pytest.raises(ValidationFailed):
                self.database.run(lambda s: list_posts(s, agent, self.room, after=after, limit=2))
            return
        found, more = self.database.run(
            lambda s: list_posts(s, agent, self.room, after=after, limit=2)
        )
        authors = [encode_id(Prefix.AGENT, self.mails[one].id) for one in self.model.posts]
        expected = list(enumerate(authors, 1))[after:]
        assert [(p.number, p.author) for p in found] == expected[:2]
        assert more == (len(expected) > 2)

    # Memory and turns

    @rule(
        who=WHO,
        key=KEYS,
        value=VALUES | st.none(),
        merges=st.booleans(),
        by_another=st.booleans(),
        expects=st.none() | st.sampled_from([0, 1]),
    )
    def write(
        self,
        who: int,
        key: str,
        value: Any,
        *,
        merges: bool,
        by_another: bool,
        expects: int | None,
    ) -> None:
        mail, memory = self.mails[who], self.model.memories[who]
        current = memory.version(key)
        told: dict[str, Any] = {"by": self.scribe if by_another else None}
        if expects is not None:  # the version that is there, or another
            told["expect"] = version((current or 7) + expects)
        if value is None:
            verb, given = remembering.delete, ()
        else:
            verb, given = (remembering.merge if merges else remembering.put), (value,)
        stale = expects is not None and (current is None or bool(expects))
        if stale or (value is None and current is None):
            with pytest.raises(VersionConflict if stale else NotFound):
                verb(mail, key, *given, **told)
            return
        entry = verb(mail, key, *given, **told)
        if merges and value is not None:
            memory.merge(key, value)
        else:
            memory.set(key, value)
        assert entry.version == memory.revision
        if by_another:
            self.model.inboxes[who].deliver()

    @precondition(lambda self: self.has("claimed"))
    @rule(number=PICK, off=OFF, key=KEYS, value=VALUES, to=WHO)
    def turn(self, number: int, off: int, key: str, value: Any, to: int) -> None:
        who, mail = self.pick(number, "claimed")
        mine, inbox = self.mails[who], self.model.inboxes[who]
        generation = mail.generation + off
        write = Write(project=self.tenant.projects["p"], key=key, change=Put(orjson.dumps(value)))
        message = mine.publication(recipients=(self.mails[to].id,))
        asked = Turn(
            ack=[Ack(self.ids[who][mail.number], generation)], memory=[write], publish=[message]
        )
        if not inbox.holds(mail, generation):
            with pytest.raises(TurnConflict):
                mine.run(lambda s: take_turn(s, mine.agent, asked))
            return
        done = mine.run(lambda s: take_turn(s, mine.agent, asked))
        inbox.ack(mail)
        self.model.commit()
        self.model.memories[who].set(key, value)
        made = self.model.inboxes[to].deliver()
        self.ids[to][made.number] = done.publish[0].event_id
        assert (done.publish[0].sequence_number, done.memory[0].version) == (
            made.sequence,
            self.model.memories[who].revision,
        )

    @rule(who=WHO, after=st.integers(0, 5))
    def read_memory(self, who: int, after: int) -> None:
        memory = self.model.memories[who]
        after = min(after, memory.revision)
        changes = since(self.mails[who], after)
        told = sorted((v, k, value) for k, (value, v) in memory.keys.items() if v > after)
        assert [(e.version, e.key, _parsed(e.value)) for e in changes.entries] == told
        now = state(self.mails[who])
        assert {e.key: (_parsed(e.value), e.version) for e in now.memory} == memory.live()
        inbox = self.model.inboxes[who]
        assert (now.cursor, now.memory_revision) == (inbox.head, memory.revision)
        assert now.claimable == len(inbox.claimable())
        mine = [
            encode_id(Prefix.ASSIGNMENT, self.works[number])
            for number, work in enumerate(self.model.works)
            if work.state == "assigned" and work.agent == who
        ]
        assert [told["assignment_id"] for told in now.assignments or ()] == mine

    @invariant()
    def same_work(self) -> None:
        found = select(assignment).where(assignment.c.tenant_id == self.tenant.id)
        rows = {
            row.assignment_id: row
            for row in self.database.run(lambda s: s.connection().execute(found).all())
        }
        for assignment_id, work in zip(self.works, self.model.works, strict=True):
            row = rows[assignment_id]
            who = work.agent
            has = (None, None)
            if who is not None and work.mail is not None:
                has = (self.mails[who].id, self.ids[who][work.mail.number])
            assert (row.state, row.agent_id, row.event_id) == (work.state, *has)
            assert (row.due_at is not None, row.failed) == (work.due is not None, work.failed)


def _parsed(value: bytes | None) -> Any:
    return None if value is None else orjson.loads(value)


@pytest.mark.timeout(3600)
def test_agents_do_together_what_their_model_does(database: TestDatabase) -> None:
    database.info[ON_END] = on_end
    set_rules(database, max_attempts=1)  # no second attempt, and so no backoff, which has jitter
    on_servers = database.kind != "sqlite"
    machine = type("Agents", (Agents,), {"database": database})
    run_machine(
        machine,
        settings=settings(
            max_examples=max(3, settings().max_examples // (24 if on_servers else 12)),
            stateful_step_count=50,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )

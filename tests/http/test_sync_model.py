"""Processes of one agent that sync its memory by whatever way end equal to the server (contract 5.9).

The agent's side as it is, its calls carried to the application in this process; SQLite, whose file is
put back for a restored backup. Retention is a minute here. HYPOTHESIS_PROFILE=thorough runs more.
"""

from __future__ import annotations

import gzip
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import orjson
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine
from sqlalchemy import Engine, select

from restante.coordination.restored import restore_memory
from restante.inbox.restored import restore_inboxes
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.memory import memory_entry
from restante_agent.client import Client
from restante_agent.errors import ApiError, CursorGone, RestanteError
from restante_agent.model.memory import MemoryEntry, MemoryWrite
from restante_agent.runtime.record import Position
from restante_agent.runtime.state_sync import catching_up, whole_state
from restante_agent.wire import inbox_calls, memory_calls, turn_calls
from restante_agent.wire.call import Call
from restante_agent.wire.core import Core
from tests.http.carrying import Process, carry, copy, play
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import empty_tables
from workers.retention import Retention

MINUTE = 60.0
KEYS = st.sampled_from(["a", "b", "c", "d/e", "é"])
VALUES = st.sampled_from([0, None, "x", [1], {"n": 1}])
WHO = st.integers(0, 2)


class Agent(RuleBasedStateMachine):
    """Every rule is something that a process of the agent, another principal or an operator does."""

    world: World
    file: Path
    ticks: list[float]
    made = 0

    def __init__(self) -> None:
        super().__init__()
        Agent.made += 1
        scopes = [*verbs("main"), *verbs("other")]
        self.agent = self.world.agent("acme", f"agent-{Agent.made}", scopes)
        self.scribe = self.world.service(
            "acme", f"scribe-{Agent.made}", ["tenant:memory:write", "tenant:events:publish"]
        )
        self.scopes = {self.agent.id: scopes, self.scribe.id: list(_SCRIBES)}
        # whoever calls: the token comes with the caller here
        self.core: Core = Client("http://127.0.0.1:1", self.agent.id, self.agent.secret).core
        self.processes = [Process() for _ in range(3)]
        self.retention = Retention(self.world.house.database)
        self.versions: set[int] = set()
        self.backup: Path | None = None

    # What the agent's side does

    def ask(
        self, call: Call[Any], caller: Caller | None = None, *, limit: int | None = None
    ) -> Any:
        return carry(call, caller or self.agent, limit=limit)

    def play(self, script: Generator[Call[Any], Any, Any], *, limit: int | None = None) -> Any:
        return play(script, self.agent, limit=limit)

    def written(self, entry: MemoryEntry) -> None:
        """No version comes a second time, not from a time that is lost either."""
        assert entry.version not in self.versions
        self.versions.add(entry.version)

    @rule(
        key=KEYS,
        value=VALUES,
        who=WHO,
        keeps=st.booleans(),
        project=st.sampled_from(["main", "other"]),
    )
    def put(self, *, key: str, value: Any, who: int, keeps: bool, project: str) -> None:
        entry = self.ask(memory_calls.memory_put(self.core, project, key, value))
        self.written(entry)
        if keeps:
            self.processes[who].view.take([entry])

    @rule(key=KEYS, value=VALUES, delete=st.booleans())
    def another_writes(self, *, key: str, value: Any, delete: bool) -> None:
        told: dict[str, Any] = {"agent_id": self.agent.id}
        call = (
            memory_calls.memory_delete(self.core, "main", key, **told)
            if delete
            else memory_calls.memory_put(self.core, "main", key, value, **told)
        )
        self.maybe(lambda: self.written(self.ask(call, self.scribe)))

    @rule(key=KEYS, who=WHO)
    def delete(self, key: str, who: int) -> None:
        call = memory_calls.memory_delete(self.core, "main", key)
        self.maybe(lambda: self.processes[who].view.take([self.ask(call)]))

    @rule(key=KEYS, value=VALUES, who=WHO)
    def put_as_it_is_known(self, key: str, value: Any, who: int) -> None:
        """A write at the version that the process has seen, which may be an old one."""
        known = self.processes[who].view.get("main", key)
        version = 0 if known is None else known.version
        call = memory_calls.memory_put(self.core, "main", key, value, if_version=version)
        self.maybe(lambda: self.written(self.ask(call)))

    @rule(key=KEYS, value=VALUES)
    def turn(self, key: str, value: Any) -> None:
        done = self.ask(turn_calls.turn(self.core, memory=[MemoryWrite("main", key, value)]))
        for entry in done.memory:
            self.written(entry)

    @rule()
    def publish(self) -> None:
        self.scribe.publish(self.agent)

    @rule()
    def another_process_acks(self) -> None:
        for event in self.agent.claim(limit=2):
            path = f"A/inbox/{event['event_id']}/ack"
            self.agent.post(path, {"claim_generation": event["claim_generation"]})

    @rule(who=WHO)
    def read_on(self, who: int) -> None:
        """Read after the cursor; where that is gone, fetch the state and go on from there."""
        process = self.processes[who]
        at = process.position
        try:
            page = self.ask(
                inbox_calls.read(
                    self.core, at and at.cursor, epoch=(at and at.epoch) or None, limit=3
                )
            )
            process.position = Position(page.next_cursor, page.epoch)
        except CursorGone as gone:
            state = self.play(whole_state(self.core, gone.state_url), limit=2)
            process.view.replace(state)
            process.position = Position(state.cursor, state.epoch)
            # never the old cursor again: the new one is good
            self.ask(inbox_calls.read(self.core, state.cursor, epoch=state.epoch))

    @rule(who=WHO)
    def sync_a_step(self, who: int) -> None:
        """A sync whose pages have anything between them."""
        process = self.processes[who]
        try:
            if process.syncing is None or process.asks is None:
                process.syncing = catching_up(self.core, process.view)
                process.asks = next(process.syncing)
            try:
                answer = self.ask(process.asks, limit=2)
            except RestanteError as error:
                process.asks = process.syncing.throw(error)
            else:
                process.asks = process.syncing.send(answer)
        except (StopIteration, ApiError):
            process.syncing = process.asks = None

    @rule(who=WHO)
    def restart(self, who: int) -> None:
        self.processes[who] = Process()

    # What happens to the server

    @rule(seconds=st.sampled_from([1.0, 31.0, 61.0]))
    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)
        self.sign_in(seconds)

    @rule()
    def retain(self) -> None:
        while self.retention.run_once()["more"]:
            pass

    @rule()
    def back_up(self) -> None:
        self.backup = self.file.with_suffix(".backup")
        copy(self.file, self.backup)

    @precondition(lambda self: self.backup is not None)
    @rule()
    def restore(self) -> None:
        assert self.backup is not None
        copy(self.backup, self.file)
        self.world.pass_time(1.0)
        run = self.world.house.database.run
        for verb in (lambda s, a: restore_inboxes(s, a)[0], restore_memory):
            last: bytes | None = b""
            while last is not None:
                last = run(lambda s, v=verb, a=last: v(s, a))
        self.sign_in(1.0)

    @rule(who=WHO)
    def converge(self, who: int) -> None:
        process = self.processes[who]
        self.play(catching_up(self.core, process.view))
        assert process.view.values("main") == self.server("main")
        assert process.view.values("other") == self.server("other")

    def teardown(self) -> None:
        for who in range(len(self.processes)):
            self.converge(who)

    def server(self, project: str) -> dict[str, Any]:
        """What is there, as the rows have it, read key by key."""
        agent_id = decode_id(Prefix.AGENT, self.agent.id)
        keys = self.world.house.database.run(
            lambda s: (
                s.connection()
                .execute(
                    select(memory_entry.c.entry_key).where(
                        memory_entry.c.agent_id == agent_id, memory_entry.c.deleted_at.is_(None)
                    )
                )
                .scalars()
                .all()
            )
        )
        found = {}
        for key in set(keys):
            try:
                found[key] = self.ask(memory_calls.memory_get(self.core, project, key)).value
            except ApiError as error:
                if error.status != 404:
                    raise
        return found

    def sign_in(self, seconds: float) -> None:
        """So much later, with new tokens: those from before have run out, or were never given out."""
        self.ticks[0] += seconds
        self.agent = self.world.narrowed(self.agent, self.scopes[self.agent.id])
        self.scribe = self.world.narrowed(self.scribe, self.scopes[self.scribe.id])

    def maybe(self, attempt: Callable[[], object]) -> None:
        """What the state may refuse: a key that is not there, or is at another version."""
        try:
            attempt()
        except ApiError as error:
            if error.status not in (404, 412):
                raise


_SCRIBES = ("tenant:memory:write", "tenant:events:publish")


@pytest.mark.timeout(900)
def test_processes_of_an_agent_end_equal_to_the_server(
    tables_on: Callable[[str], tuple[str, Engine]],
) -> None:
    url, engine = tables_on("sqlite")
    empty_tables(engine)
    with open_world(url, {"retention_days": MINUTE / 86_400}) as world:
        # what the process remembers of tokens and of the database's clock grows old with it
        ticks, authority = [0.0], world.house.authority
        authority._monotonic = lambda: time.monotonic() + ticks[0]
        of_world = {"world": world, "file": Path(url[10:]), "ticks": ticks}
        agent: Any = type("OneWorld", (Agent,), of_world)
        run_machine(
            agent,
            settings=settings(
                max_examples=max(4, settings().max_examples // 12),
                stateful_step_count=25,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )


def test_thousands_of_keys_are_a_few_pages(alice: Caller) -> None:
    """10,000 keys are ten pages of one indexed range each; here 3,000."""
    writes = [{"project": "main", "key": f"k{n}", "value": {"n": n}} for n in range(3_000)]
    for first in range(0, len(writes), 1_000):
        body = {"memory": writes[first : first + 1_000]}
        answer = alice.post("A/inbox/turn", body, headers={"Idempotency-Key": f"k{first}"})
        assert answer.status_code == 200, answer.text
    pages: list[dict[str, Any]] = []
    path = "A/state"
    while not pages or pages[-1]["next_page_token"] is not None:
        answer = alice.get(path, headers={"Accept-Encoding": "gzip"})
        pages.append(orjson.loads(gzip.decompress(answer.data)))
        path = f"A/state?page_token={pages[-1]['next_page_token']}"
    assert [len(page["memory"]) for page in pages] == [1_000] * 3

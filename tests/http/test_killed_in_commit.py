"""A web worker that is killed at a commit leaves all rows of its verb or none (SQLite and one server).

And whoever repeats the call is answered rightly: with what was made, or by making it now.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import Engine, event, select, update

from blueprints.endpoint import endpoint_of
from restante.coordination.rerouting import due_assignments, run_timer
from restante.inbox.triage.carrying_out import carry_out_next
from restante.storage.tables.triage import triage_job
from tests.conftest import wanted_kinds
from tests.engine.snapshot import snapshot
from tests.http.dying import Moment, counted_commits, die_in_commit, put_back, shape
from tests.http.household import Household, settle_in
from tests.http.walk import MEMORY, ROOM, A, Route, routes
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import empty_tables
from tests.support.session import known_url

VERBS_OF = (
    *(f"{A}/inbox", f"{A}/events", f"{A}/memory", "/api/v1/events", "/api/v1/rooms"),
    *("/api/v1/assignments", "/api/v1/admin/quarantine"),
)
KEYED = {"Idempotency-Key": "once"}
PUBLICATION = {"project": "main", "type": "t", "payload": {"n": 1}}


@dataclass(frozen=True)
class Again:
    """What a repeat of a call is answered that has committed. None: as the first would have been."""

    status: int | None = None
    # without a key of the call's own: a put is put again, a lease is renewed again
    changes: bool = False


AGAIN: dict[tuple[str, str], Again] = {
    ("POST", f"{A}/inbox/<event_id>/release"): Again(409),
    ("POST", f"{A}/inbox/<event_id>/reject"): Again(409),
    ("POST", f"{A}/inbox/<event_id>/renew"): Again(changes=True),
    ("POST", f"{A}/inbox/commit"): Again(200),
    ("POST", f"{A}/inbox/release"): Again(200),
    ("PUT", MEMORY): Again(200, changes=True),
    ("PATCH", MEMORY): Again(200, changes=True),
    ("DELETE", MEMORY): Again(404),
    # it has left, and sees the room no more
    ("DELETE", f"{ROOM}/members/<agent_id>"): Again(404),
    ("POST", "/api/v1/events/<event_id>/cancel"): Again(409),
    ("POST", "/api/v1/assignments/<assignment_id>/cancel"): Again(409),
}
BODIES: dict[str, Any] = {
    f"{A}/inbox/claim": {"limit": 1, "claim_id": "a-claim-that-is-repeated"},
    f"{A}/inbox/commit": {"through_cursor": 3},
}


@dataclass
class Case:
    """A call; `act` → (status, answer)."""

    name: str
    act: Callable[[], tuple[int, Any]]
    again: Again = field(default_factory=Again)


@dataclass
class Home:
    """A household, and two that work for it: a claimed and an unread assignment, a room, a job."""

    world: World
    house: Household
    worker: Caller
    second: Caller
    work: dict[str, Any]
    mail: list[dict[str, Any]]

    def cases(self) -> Iterator[Case]:
        walked = [route for route in routes(self.world.app) if _is_of_here(route)]
        for route in walked:
            yield self.of_route(route)
        assert {(r.method, r.rule) for r in walked} >= AGAIN.keys()
        told = {"recipients": [self.worker.id, self.second.id], **PUBLICATION}
        many = {"events": [told | {"ordering_key": "k"}, told | {"delay_seconds": 60}]}
        yield self.of_call("publish many", self.worker, "POST", "events", many, headers=KEYED)
        ack, release, reject, renew = (
            {"event_id": taken["event_id"], "claim_generation": 1} for taken in self.mail
        )
        parts = {"ack": [ack], "release": [release], "reject": [reject | {"reason": "no"}]}
        settle = "A/inbox/settle"
        yield self.of_call("settle many", self.worker, "POST", settle, parts, again=Again(200))
        work = f"A/inbox/{self.work['event_id']}"
        held = {"claim_generation": 1}
        yield self.of_call("complete work", self.worker, "POST", f"{work}/ack", held)
        failed = held | {"reason": "no"}
        yield self.of_call(
            "fail work", self.worker, "POST", f"{work}/reject", failed, again=Again(409)
        )
        turn = {"ack": renew, "memory": [{"project": "main", "key": "k", "value": 1}]}
        turn["publish"] = [told]
        yield self.of_call("turn", self.worker, "POST", "A/inbox/turn", turn, headers=KEYED)
        one = self.house.agent.id
        yield self.of_call(
            "tell of memory",
            self.worker,
            "PUT",
            f"agents/{one}/memory/main/k",
            {"value": 1},
            again=Again(changes=True),
        )
        room = self.house.ids.room_id
        yield self.of_call("read posts", self.house.agent, "GET", f"rooms/{room}/posts?after=1")
        run = self.world.house.database.run
        (due,) = run(lambda s: due_assignments(s, limit=10))
        # one that has moved on is not due
        yield Case("route on", lambda: (200, run(lambda s: run_timer(s, due))), Again(200))
        job_id = run(lambda s: s.connection().execute(select(triage_job.c.job_id)).scalar_one())
        yield Case(
            "redrive",
            lambda: (200, run(lambda s: carry_out_next(s, job_id))),
            Again(200, changes=True),  # the job's end is a transaction of its own
        )

    def of_route(self, route: Route) -> Case:
        view: Any = endpoint_of(self.world.app.view_functions[_endpoint(self.world, route)])
        given: dict[str, Any] = {"headers": KEYED} if view.creates else {}
        if route.rule in BODIES:
            given["json"] = BODIES[route.rule]
        who = self.house.caller(route)

        def act() -> tuple[int, Any]:
            answer = route.call(who, self.house.ids, **given)
            return answer.status_code, answer.json

        return Case(str(route), act, AGAIN.get((route.method, route.rule), Again()))

    def of_call(
        self,
        name: str,
        who: Caller,
        method: str,
        path: str,
        body: Any = None,
        *,
        again: Again | None = None,
        **given: Any,
    ) -> Case:
        def act() -> tuple[int, Any]:
            answer = who.call(method, path, json=body, **given)
            return answer.status_code, answer.json

        return Case(name, act, again or Again())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    asked = [kind for kind in wanted_kinds(metafunc.config) if kind == "sqlite" or known_url(kind)]
    servers = [kind for kind in ("mariadb", "mysql") if kind in asked][:1]
    metafunc.parametrize("kind", [kind for kind in asked if kind == "sqlite"] + servers)


@pytest.fixture
def engine(kind: str, tables_on: Callable[[str], tuple[str, Engine]]) -> Engine:
    return tables_on(kind)[1]


@pytest.fixture
def home(
    kind: str, engine: Engine, tables_on: Callable[[str], tuple[str, Engine]]
) -> Iterator[Home]:
    empty_tables(engine)
    with open_world(tables_on(kind)[0], {}) as world:
        if kind == "sqlite":  # processes die here, not machines
            event.listen(world.house.database.engine, "connect", _sync_nothing)
        house = settle_in(world, "acme", "one")
        worker, second = (world.agent("acme", name, verbs("main")) for name in ("w", "s"))
        mail = [worker.publish(worker)[0] for _ in range(4)]
        worker.claim(limit=4, lease_seconds=43_200)
        wanted = {"project": "main", "policy": "in_order", "payload": {}}
        wanted["candidates"] = [worker.id, second.id]
        work = house.agent.post("assignments", wanted).json
        worker.claim(lease_seconds=43_200)
        unread = house.agent.post("assignments", wanted | {"unread_timeout_seconds": 60})
        assert unread.status_code == 201, unread.text
        assert house.agent.post(f"rooms/{house.ids.room_id}/posts", {"content": "a"}).json
        world.pass_time(61)
        soon = update(triage_job).values(stagger_ms=0)
        world.house.database.run(lambda s: s.connection().execute(soon))
        # what is looked up of tokens now stays fresh, so that a call has one commit, its own
        now = world.house.authority._monotonic()
        world.house.authority._monotonic = lambda: now
        assert {who.get("A/inbox/stats").status_code for who in (house.agent, worker)} == {200}
        assert house.boss.get("admin/tenant").status_code == 200
        yield Home(world, house, worker, second, work, mail)


@pytest.mark.timeout(300)
def test_a_verb_that_is_killed_in_its_commit_is_there_wholly_or_not_at_all(
    home: Home, engine: Engine
) -> None:
    database = home.world.house.database
    engines = [database.engine, engine]
    base = snapshot(database)
    for case in home.cases():
        die_in_commit(case.act, engines, Moment.BEFORE)
        assert shape(base, snapshot(database)) == {}, case.name
        with counted_commits(database.engine) as commits:
            status, first = case.act()
        assert status in (200, 201, 202), (case.name, first)
        assert len(commits) == 1, f"{case.name} has {len(commits)} commits"
        now = snapshot(database)
        whole = shape(base, now)
        put_back(database, base, now)

        die_in_commit(case.act, engines, Moment.AFTER)
        left = snapshot(database)
        assert shape(base, left) == whole != {}, case.name
        again, answer = case.act()
        assert again == (case.again.status or status), (case.name, answer)
        if case.again.status is None:
            assert masked(answer) == masked(first), case.name
        now = snapshot(database)
        assert case.again.changes or shape(left, now) == {}, case.name
        put_back(database, base, now)


_OF_NOW = (
    *("reachability", "lease_remaining_ms", "next_poll_ms", "claimable"),
    *("version", "memory_revision"),
)
_MADE = re.compile(r"\b[a-z]{2,4}_[0-9a-f]{32}\b|\d{4}-\d\d-\d\dT[\d:.]+Z")


def masked(answer: Any) -> Any:
    """An answer without what differs from one call to the next."""
    if isinstance(answer, dict):
        return {name: masked(value) for name, value in answer.items() if name not in _OF_NOW}
    if isinstance(answer, list):
        return [masked(value) for value in answer]
    return _MADE.sub("made", answer) if isinstance(answer, str) else answer


def _sync_nothing(connection: Any, record: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")


def _is_of_here(route: Route) -> bool:
    return route.method != "GET" and route.rule.startswith(VERBS_OF)


def _endpoint(world: World, route: Route) -> str:
    (found,) = (
        rule.endpoint
        for rule in world.app.url_map.iter_rules()
        if rule.rule == route.rule and route.method in (rule.methods or ())
    )
    return found

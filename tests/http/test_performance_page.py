"""What docs/performance.md says that each call asks of the database is what it asks."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pymysql
import pytest
from sqlalchemy import event

from restante.inbox.known_recipients import KNOWN
from restante.signals.hub import Bell
from restante.storage import driver
from tests.docs.pages import ROOT
from tests.http import hot_calls
from tests.http.hot_calls import Answer, Desk, Request
from tests.http.world import World, open_world
from tests.support.databases import TestDatabase
from tests.support.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.servers_only
PAGE = ROOT / "docs/performance.md"
WARM = 6
"""Calls after which a process knows what it goes by: keys, tokens, recipients, whether they are there."""
ROW = re.compile(r"^\| ([^|]+?) +\| +(\d+) \| +(\d+) \|", re.MULTILINE)
CALLS: dict[str, Callable[[Desk], Request]] = {
    "publish": hot_calls.publish,
    "claim": hot_calls.claim,
    "claim, nothing there": hot_calls.claim_in_vain,
    "settle": hot_calls.settle,
    "ack": hot_calls.ack,
    "turn: ack, memory, publish": hot_calls.turn,
    "read": hot_calls.read,
    "state": hot_calls.state,
    "stream open": hot_calls.subscribe,
    "token": hot_calls.token,
    "claim, signed": hot_calls.signed_claim,
}


@dataclass
class Cost:
    """What the thread that made this has asked, COMMIT counted as a trip and not as a statement."""

    statements: int = 0
    trips: int = 0


class Counting:
    """Counts what each thread asks of a server."""

    def __init__(self) -> None:
        self._costs: dict[int, Cost] = {}

    def start(self) -> Cost:
        cost = self._costs[threading.get_ident()] = Cost()
        return cost

    def stop(self) -> None:
        self._costs.pop(threading.get_ident())

    def statement(self, *_: Any) -> None:
        if cost := self._costs.get(threading.get_ident()):
            cost.statements += 1

    def trip(self) -> None:
        if cost := self._costs.get(threading.get_ident()):
            cost.trips += 1


@pytest.fixture
def world(database: TestDatabase) -> Iterator[World]:
    with open_world(database.url, {}) as one:
        house = one.house

        def still() -> float:
            """What is known of callers, signers and recipients stays known."""
            return 1000.0

        house.authority._monotonic = house.signers._monotonic = still
        house.database.info[KNOWN].clock = house.reachability._clock = still
        yield one


@pytest.fixture
def counting(world: World, monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    event.listen(world.house.database.engine, "before_cursor_execute", counting.statement)
    for owner, name in (
        (driver, "_send"),
        (pymysql.connections.Connection, "_execute_command"),
    ):
        monkeypatch.setattr(owner, name, _counted(getattr(owner, name), counting))
    return counting


def _counted(way: Callable[..., Any], counting: Counting) -> Callable[..., Any]:
    def sent(*given: Any) -> Any:
        counting.trip()
        return way(*given)

    return sent


@pytest.fixture
def desk(world: World) -> Desk:
    return _desk(world)


def _desk(world: World) -> Desk:
    (who,) = world.house.database.run(lambda session: hot_calls.enrol(session, 1))
    authority = world.house.settings.public_url.partition("://")[2]
    return Desk(lambda request: carried(world, request), who, authority=authority)


def carried(world: World, request: Request) -> Answer:
    answer = world.app.test_client().open(
        request.path,
        method=request.method,
        data=request.body,
        headers=dict(request.headers),
        base_url=world.house.settings.public_url,
    )
    body = b"" if answer.mimetype == "text/event-stream" else answer.data
    answer.close()
    return Answer(answer.status_code, body)


def told() -> dict[str, tuple[int, int]]:
    """{call: statements, round trips} of the page."""
    return {name: (int(asked), int(trips)) for name, asked, trips in ROW.findall(PAGE.read_text())}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_asks_what_the_page_says(desk: Desk, counting: Counting, name: str) -> None:
    for _ in range(WARM):
        desk.done(CALLS[name](desk))
    request = CALLS[name](desk)
    cost = counting.start()
    desk.done(request)
    assert (cost.statements, cost.trips) == told()[name]


def test_a_held_poll_asks_what_the_page_says(
    desk: Desk, counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the ring to the answer: what it asks before it waits is a read that finds nothing."""
    waits, wait = threading.Event(), Bell.wait
    desk.claim()
    cursor = desk.done(desk.as_agent("GET", "A/inbox?limit=100")).json["next_cursor"]
    path = f"A/inbox?after_cursor={cursor}"

    def waiting(bell: Bell, seconds: float | None = None) -> None:
        waits.set()
        wait(bell, seconds)

    def asked(path: str) -> Cost:
        cost = counting.start()
        desk.done(desk.as_agent("GET", path))
        counting.stop()
        return cost

    monkeypatch.setattr(Bell, "wait", waiting)
    before = asked(path)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(asked, f"{path}&wait_seconds=20")
        wait_until(lambda: call.done() or waits.is_set(), "the call is held")
        desk.publish()
        held = call.result(timeout=PATIENCE_SECONDS)
    found = held.statements - before.statements, held.trips - before.trips
    assert found == told()["poll, from the ring on"]


def test_the_page_names_no_call_that_is_not_counted() -> None:
    assert told().keys() == CALLS.keys() | {"poll, from the ring on"}

"""Held calls: they end when something comes, when the time is over, at revocation and at a drain."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from sqlalchemy import update
from sqlalchemy.pool import QueuePool
from werkzeug.test import TestResponse

from blueprints import waiting
from restante.inbox import browse
from restante.signals.hub import Bell
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.identity import credential, granted_scope
from tests.http.world import Caller, World, verbs
from tests.support.waiting import PATIENCE_SECONDS, wait_until


@pytest.fixture
def settings() -> dict[str, object]:
    return {"heartbeat_seconds": 0.1}


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


@pytest.fixture
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still for held calls: none ends because its time is over."""
    monkeypatch.setattr(waiting, "time", SimpleNamespace(monotonic=lambda: 0.0))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """How long calls wanted to wait at the hub; none does."""
    asked: list[float | None] = []
    monkeypatch.setattr(Bell, "wait", lambda _, seconds=None: asked.append(seconds))
    return asked


Held = Callable[..., "Future[TestResponse]"]


@pytest.fixture
def held(world: World, threads: ThreadPoolExecutor, still: None) -> Iterator[Held]:
    """Starts a call in a thread and returns once it waits at the hub."""

    def start(caller: Caller, method: str, path: str, **given: object) -> Future[TestResponse]:
        raw = decode_id(Prefix.AGENT, caller.id)
        before = len(world.house.hub.at(raw or b""))
        apart = Caller(world.app.test_client(), caller.id, caller.secret, caller.token)
        future = threads.submit(apart.call, method, path, **given)
        wait_until(
            lambda: future.done() or len(world.house.hub.at(raw or b"")) > before,
            "the call is held",
        )
        return future

    yield start
    world.house.hub.drain()


def test_a_claim_waits_for_what_is_published(
    world: World, alice: Caller, bob: Caller, held: Held
) -> None:
    call = held(alice, "POST", "A/inbox/claim", json={"wait_seconds": 20})
    bob.publish(alice, project="main")
    answer = call.result(timeout=PATIENCE_SECONDS)
    assert [e["sequence_number"] for e in answer.json["events"]] == [1]
    raw = decode_id(Prefix.AGENT, alice.id)
    assert world.house.hub.at(raw or b"") == ()


def test_a_read_waits_for_what_is_published(alice: Caller, bob: Caller, held: Held) -> None:
    call = held(alice, "GET", "A/inbox?wait_seconds=20")
    bob.publish(alice)
    assert [e["sequence_number"] for e in call.result(timeout=PATIENCE_SECONDS).json["events"]] == [
        1
    ]


def test_what_is_there_already_is_answered_at_once(
    alice: Caller, bob: Caller, waits: list[float | None]
) -> None:
    bob.publish(alice)
    # nothing after the cursor, but something can be claimed
    page = alice.get("A/inbox?after_cursor=1&wait_seconds=30").json
    assert (page["events"], page["claimable"]) == ([], 1)
    assert len(alice.claim(wait_seconds=30)) == 1
    assert not waits


def test_a_page_that_ends_before_the_log_does_is_not_held(
    world: World, ci: Caller, monkeypatch: pytest.MonkeyPatch, waits: list[float | None]
) -> None:
    monkeypatch.setattr(browse, "PAGE_EXAMINED", 3)
    carol = world.agent("acme", "carol", verbs("main") + verbs("other"))
    for _ in range(4):
        ci.publish(carol, project="other")
    narrow = world.narrowed(carol, verbs("main", "read"))
    page = narrow.get("A/inbox?wait_seconds=20").json
    assert (page["events"], page["next_cursor"], page["has_more"]) == ([], 3, True)
    assert not waits


def test_the_first_pauses_of_a_new_agent_are_short(alice: Caller) -> None:
    """It has just begun: an inbox is not idle from the day that time began."""
    assert 800 <= alice.get("A/inbox").json["next_poll_ms"] <= 1200
    assert 800 <= alice.post("A/inbox/claim", {}).json["next_poll_ms"] <= 1200


def test_waiting_ends_with_its_time(
    alice: Caller, waits: list[float | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock that the waits move, a heartbeat each."""
    clock = SimpleNamespace(monotonic=lambda: sum(filter(None, waits)))
    monkeypatch.setattr(waiting, "time", clock)
    answer = alice.post("A/inbox/claim", {"wait_seconds": 1})
    assert (answer.status_code, answer.json["events"]) == (200, [])
    assert sum(filter(None, waits)) == pytest.approx(1)


def test_while_a_call_is_held_it_holds_no_connection(
    world: World, alice: Caller, held: Held
) -> None:
    calls = [held(alice, "POST", "A/inbox/claim", json={"wait_seconds": 20}) for _ in range(3)]
    pool = world.house.database.engine.pool
    assert isinstance(pool, QueuePool)
    wait_until(lambda: pool.checkedout() == 0, "no connection is in use")
    assert not any(call.done() for call in calls)
    world.house.hub.drain()
    assert [call.result(timeout=PATIENCE_SECONDS).json["events"] for call in calls] == [[], [], []]


def test_a_drain_answers_held_calls_empty(world: World, alice: Caller, held: Held) -> None:
    claiming = held(alice, "POST", "A/inbox/claim", json={"wait_seconds": 30})
    reading = held(alice, "GET", "A/inbox?wait_seconds=30")
    world.house.hub.drain()
    for call in (claiming, reading):
        answer = call.result(timeout=PATIENCE_SECONDS)
        assert (answer.status_code, answer.json["events"]) == (200, [])
        assert "next_poll_ms" in answer.json
    # and from now on nobody is held
    assert alice.post("A/inbox/claim", {"wait_seconds": 30}).json["events"] == []


def test_a_revoked_credential_ends_a_held_call_with_401(
    world: World, alice: Caller, held: Held
) -> None:
    call = held(alice, "POST", "A/inbox/claim", json={"wait_seconds": 30})
    raw = decode_id(Prefix.AGENT, alice.id)
    world.house.database.run(
        lambda s: s.connection().execute(
            update(credential)
            .where(credential.c.principal_id == raw)
            .values(revoked_at=credential.c.created_at)
        )
    )
    answer = call.result(timeout=PATIENCE_SECONDS)
    assert (answer.status_code, answer.json["type"]) == (401, "/problems/unauthenticated")


def test_a_withdrawn_grant_ends_a_held_call_with_401_too(
    world: World, alice: Caller, held: Held
) -> None:
    call = held(alice, "POST", "A/inbox/claim", json={"wait_seconds": 30})
    raw = decode_id(Prefix.AGENT, alice.id)
    world.house.database.run(
        lambda s: s.connection().execute(
            granted_scope.delete().where(granted_scope.c.principal_id == raw)
        )
    )
    answer = call.result(timeout=PATIENCE_SECONDS)
    assert (answer.status_code, answer.json["type"]) == (401, "/problems/unauthenticated")
    assert alice.get("A/inbox").status_code == 403


def test_two_held_claims_share_what_comes(alice: Caller, bob: Caller, held: Held) -> None:
    calls = [
        held(alice, "POST", "A/inbox/claim", json={"wait_seconds": 20, "limit": 1})
        for _ in range(2)
    ]
    for _ in range(2):
        bob.publish(alice)
    got = [
        e["sequence_number"]
        for call in calls
        for e in call.result(timeout=PATIENCE_SECONDS).json["events"]
    ]
    assert sorted(got) == [1, 2]


def test_a_ring_between_the_look_and_the_wait_is_heard(
    world: World,
    alice: Caller,
    bob: Caller,
    threads: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Published after the first look has found nothing and before the call waits."""
    looked, go_on = threading.Event(), threading.Event()
    wait = Bell.wait

    def paused(self: Bell, timeout_seconds: float | None = None) -> bool:
        looked.set()
        assert go_on.wait(PATIENCE_SECONDS)
        return wait(self, timeout_seconds)

    monkeypatch.setattr(Bell, "wait", paused)
    call = threads.submit(alice.post, "A/inbox/claim", {"wait_seconds": 20})
    assert looked.wait(PATIENCE_SECONDS)
    Caller(world.app.test_client(), bob.id, bob.secret, bob.token).publish(alice)
    go_on.set()
    assert len(call.result(timeout=PATIENCE_SECONDS).json["events"]) == 1

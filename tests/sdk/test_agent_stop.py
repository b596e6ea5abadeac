"""How a run ends, and what the next one finds."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from restante_agent import (
    Agent,
    Client,
    Delivery,
    NotFound,
    StopReason,
)
from tests.sdk.fake_answers import AGENT, SECRET, Reply, problem
from tests.sdk.fake_server import FakeServer
from tests.sdk.running import claims, done, make, running


def test_what_a_killed_forerunner_held_is_given_back_as_a_failed_attempt(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox, names = server.inbox, []
    begun, known = inbox.publish(), inbox.publish()

    def handle(delivery: Delivery) -> dict[str, int]:
        names.append(claims(inbox)[0]["consumer"])
        return {"n": 1}

    make(server, handle, tmp_path).run(until_empty=True)
    with inbox.lock:  # as if it had been killed: one begun, one finished but not acked
        for row in inbox.rows.values():
            row.status, row.deadline, row.consumer = "claimed", inbox.now() + 60, names[0]
        agent = make(server, handle, tmp_path)
        record = agent.state_dir / "record.sqlite3"
    with sqlite3.connect(record) as db:
        db.execute("DELETE FROM finished WHERE event_id = ?", (begun,))
    db.close()
    agent.run(until_empty=True)
    assert inbox.all_completed()
    assert inbox.rows[begun].last_error["code"] == "consumer_lost"
    assert inbox.rows[begun].last_error["outcome"] == "unknown"
    assert inbox.rows[begun].generation == 2
    assert inbox.rows[known].generation == 1


def test_a_result_that_was_refused_keeps_nobody_from_starting(
    server: FakeServer, tmp_path: Path
) -> None:
    """Finished, written down and held, with a result that this server does not take."""
    inbox = server.inbox
    event_id = inbox.publish()

    def before(method: str, path: str, body: Any) -> Reply | None:
        return problem(400, "malformed-json") if body and body.get("result") else None

    summary = make(server, lambda _: {"a": "\ud800"}, tmp_path).run(until_empty=True)
    assert (summary.acked, inbox.rows[event_id].result) == (1, {"a": "\ud800"})
    inbox.before = before
    agent = make(server, done, tmp_path)
    inbox.rows[event_id].status = "claimed"
    inbox.rows[event_id].deadline = inbox.now() + 60
    agent.run(until_empty=True)
    assert (inbox.rows[event_id].status, inbox.rows[event_id].result) == ("completed", None)


def test_a_stop_lets_the_handler_finish_and_claims_no_more(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox, begun, go = server.inbox, Event(), Event()
    first, second = inbox.publish(), inbox.publish()

    def handle(delivery: Delivery) -> None:
        begun.set()
        go.wait(30)

    with running(make(server, handle, tmp_path)) as run:
        assert begun.wait(30)
        run.agent.stop()
        go.set()
        assert run.stop().acked == 1
    assert (inbox.rows[first].status, inbox.rows[second].status) == ("completed", "pending")


def test_a_second_stop_gives_back_what_is_held(server: FakeServer, tmp_path: Path) -> None:
    inbox, begun = server.inbox, Event()
    event_id = inbox.publish()

    def handle(delivery: Delivery) -> None:
        begun.set()
        delivery.wait_stopped(30)
        assert delivery.stop_reason is StopReason.SHUTDOWN

    with running(make(server, handle, tmp_path, drain_seconds=600)) as run:
        assert begun.wait(30)
        run.agent.stop()
        run.stop()
    row = inbox.rows[event_id]
    assert row.status == "pending"
    assert row.event["attempts"] == 0
    assert row.last_error is None


def test_a_handler_that_will_not_stop_is_left_and_its_lease_given_back(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox, begun, never = server.inbox, Event(), Event()
    event_id = inbox.publish()

    def handle(delivery: Delivery) -> None:
        begun.set()
        never.wait(30)

    agent = make(server, handle, tmp_path, drain_seconds=0.1)
    agent._plan = replace(agent._plan, last_seconds=0.2)
    with running(agent) as run:
        assert begun.wait(30)
        run.stop()
        assert inbox.rows[event_id].status == "pending"
        assert inbox.count("/inbox/release") == 1
        never.set()


def test_a_wrong_agent_ends_the_run_with_the_reason(server: FakeServer, tmp_path: Path) -> None:
    client = Client(server.url, AGENT, SECRET, agent_id="agt_other")
    with pytest.raises(NotFound):
        Agent(client, done, state_dir=tmp_path).run(handle_signals=False)

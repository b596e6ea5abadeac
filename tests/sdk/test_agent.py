"""The runner against a server on a real socket: ring, claim, renew, handle, settle."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from restante_agent import (
    Ack,
    AttemptFailed,
    Delivery,
    Failure,
    FailureOutcome,
    Reject,
    Release,
    StopReason,
)
from tests.sdk.fake_answers import Reply, problem
from tests.sdk.fake_server import Broken, FakeServer
from tests.sdk.running import LONG_LEASE_SECONDS, done, make, running, streaming
from tests.support.waiting import wait_until


def test_an_event_published_to_a_waiting_agent_is_rung_worked_and_acked(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox, seen = server.inbox, []

    def handle(delivery: Delivery) -> dict[str, Any]:
        seen.append((delivery.event.payload, delivery.generation, delivery.fence))
        assert 0 < delivery.lease_remaining_ms <= 60_000
        return {"done": delivery.event.payload["n"]}

    inbox.next_poll_ms = 300_000
    with running(make(server, handle, tmp_path)) as run:
        wait_until(lambda: streaming(server), "the stream is open")
        wait_until(lambda: inbox.count("/claim") >= 1, "the first look")
        first = inbox.publish(ordering_key="k")
        wait_until(lambda: inbox.rows[first].status == "completed", "acked")
        assert run.stop().acked == 1
    assert seen == [({"n": 1}, 1, 1)]
    assert inbox.rows[first].result == {"done": 1}
    left = [t for t in threading.enumerate() if t.name == "restante"]
    assert left == []


def test_what_was_there_before_is_worked_in_order_of_its_key(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox, seen = server.inbox, []
    for number in range(12):
        inbox.publish({"n": number}, ordering_key=f"k{number % 3}")
    agent = make(server, lambda d: seen.append(d.event.payload["n"]), tmp_path, concurrency=4)
    summary = agent.run(until_empty=True)
    assert summary.acked == 12
    assert inbox.all_completed()
    for key in range(3):
        assert [n for n in seen if n % 3 == key] == sorted(n for n in seen if n % 3 == key)


@pytest.mark.usefixtures("renewals_start_early")
def test_a_lease_is_renewed_while_the_handler_works(server: FakeServer, tmp_path: Path) -> None:
    inbox = server.inbox
    event_id = inbox.publish()

    def handle(delivery: Delivery) -> None:
        delivery.report({"step": 1})
        wait_until(lambda: inbox.rows[event_id].effects.count("renew") >= 4, "renewals")
        assert not delivery.stopped

    summary = make(server, handle, tmp_path, lease_seconds=LONG_LEASE_SECONDS).run(until_empty=True)
    assert summary.acked == 1
    assert inbox.rows[event_id].generation == 1
    renewals = [body for _, path, _, body in inbox.requests if path.endswith("/renew")]
    assert renewals[0]["progress"] == {"step": 1}
    assert "progress" not in renewals[1]


@pytest.mark.usefixtures("renewals_start_early")
def test_a_refused_renewal_stops_the_work_and_settles_nothing(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox, stopped = server.inbox, []
    event_id = inbox.publish()

    def before(method: str, path: str, body: Any) -> Reply | None:
        if path.endswith("/renew"):
            return problem(409, "stale-claim", reason="reclaimed", current_generation=2)
        return None

    inbox.before = before

    def handle(delivery: Delivery) -> None:
        if delivery.wait_stopped(10):
            stopped.append(delivery.stop_reason)

    with running(make(server, handle, tmp_path, lease_seconds=LONG_LEASE_SECONDS)) as run:
        wait_until(lambda: stopped, "the handler is told")
        summary = run.stop()
    assert stopped[0] is StopReason.LEASE_LOST
    assert summary.stopped >= 1
    assert "ack" not in inbox.rows[event_id].effects


@pytest.mark.usefixtures("renewals_start_early")
def test_a_cancel_is_learnt_at_the_renewal_and_the_event_given_back(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox = server.inbox
    event_id = inbox.publish(cancel_requested=True)

    def handle(delivery: Delivery) -> None:
        delivery.wait_stopped(10)
        assert delivery.stop_reason is StopReason.CANCEL_REQUESTED
        delivery.raise_if_stopped()

    with running(make(server, handle, tmp_path, lease_seconds=LONG_LEASE_SECONDS)):
        wait_until(lambda: "release" in inbox.rows[event_id].effects, "released")
    assert inbox.rows[event_id].last_error is None


@pytest.mark.parametrize(
    ("result", "status", "error"),
    [
        (None, "completed", None),
        (Ack({"a": 1}), "completed", None),
        (Release(delay_seconds=600), "pending", None),
        (Reject("never"), "quarantined", None),
        (ValueError("odd"), "pending", ("ValueError", "odd", "failed")),
        (SystemExit(3), "pending", ("SystemExit", "3", "failed")),
        (
            AttemptFailed("upstream", "down", outcome=FailureOutcome.NONE, delay_seconds=600),
            "pending",
            ("upstream", "down", "none"),
        ),
        ("text", "pending", ("handler_result", None, "failed")),
    ],
)
def test_what_a_handler_does_is_what_the_server_hears(
    server: FakeServer, tmp_path: Path, result: Any, status: str, error: Any
) -> None:
    inbox = server.inbox
    event_id = inbox.publish(max_attempts=1 if status == "never" else 5)

    def handle(delivery: Delivery) -> Any:
        if delivery.event.attempts > 1:
            return Release(delay_seconds=600)
        if isinstance(result, BaseException):
            raise result
        return result

    make(server, handle, tmp_path).run(until_empty=True)
    row = inbox.rows[event_id]
    assert row.status == status
    if error is None:
        assert row.last_error is None
    else:
        assert row.last_error["code"] == error[0]
        assert row.last_error["outcome"] == error[2]
        assert error[1] is None or row.last_error["message"] == error[1]


def test_a_last_failed_attempt_is_told_to_be_the_last(
    server: FakeServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    last = server.inbox.publish(max_attempts=1)
    again = server.inbox.publish(max_attempts=5)

    def fail(delivery: Delivery) -> Release:
        return Release(600, Failure("odd", "it fails"))

    make(server, fail, tmp_path).run(until_empty=True)
    assert [server.inbox.rows[one].status for one in (last, again)] == ["quarantined", "pending"]
    told = [r.getMessage() for r in caplog.records if r.getMessage().startswith("quarantined")]
    assert told == [
        f"quarantined event_id={last} attempts=1: it is not tried again until an operator puts it back"
    ]


def test_an_event_whose_ack_was_lost_is_not_worked_twice(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox, worked = server.inbox, []
    event_id = inbox.publish()

    def before(method: str, path: str, body: Any) -> Reply | None:
        return problem(422, "validation-error") if path.endswith("/ack") else None

    def work(delivery: Delivery) -> dict[str, int]:
        worked.append(1)
        return {"n": 9}

    def never(delivery: Delivery) -> None:
        worked.append(2)

    inbox.before = before  # the ack never gets through
    agent = make(server, work, tmp_path, lease_seconds=1)
    with running(agent):
        wait_until(lambda: worked, "worked once")
        wait_until(lambda: inbox.count("/ack") >= 1, "tried")
    inbox.before = lambda *_: None
    wait_until(lambda: len(inbox._claimable()) == 1, "the lease is over")
    summary = make(server, never, tmp_path).run(until_empty=True)
    assert summary.known == 1
    assert worked == [1]
    assert inbox.rows[event_id].result == {"n": 9}
    assert inbox.rows[event_id].generation == 2


def test_a_stale_ack_is_counted_not_raised(server: FakeServer, tmp_path: Path) -> None:
    inbox = server.inbox
    event_id = inbox.publish()

    def handle(delivery: Delivery) -> None:
        with inbox.lock:  # somebody else took it meanwhile, and finished it
            inbox.rows[event_id].generation += 1
            inbox.rows[event_id].status = "completed"

    assert make(server, handle, tmp_path).run(until_empty=True).stale == 1


def test_a_claim_whose_answer_is_lost_is_asked_for_again(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox, lost = server.inbox, []
    event_id = inbox.publish()

    def after(method: str, path: str, reply: Reply) -> Reply | None:
        if path.endswith("/claim") and not lost:
            lost.append(path)
            raise Broken
        return None

    inbox.after = after
    assert make(server, done, tmp_path).run(until_empty=True).acked == 1
    assert inbox.rows[event_id].generation == 1
    ids = [body["claim_id"] for _, path, _, body in inbox.requests if path.endswith("/claim")]
    assert ids[0] == ids[1]

"""The async runner comes to the same ends as the blocking one."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from restante_agent import (
    AsyncAgent,
    AsyncClient,
    Delivery,
    InvalidClient,
    Reject,
    StopReason,
)
from restante_agent.runtime.places import state_directory
from restante_agent.runtime.record import Position, Record
from tests.sdk.fake_answers import AGENT, SECRET, Reply, problem
from tests.sdk.fake_server import FakeServer
from tests.sdk.running import LONG_LEASE_SECONDS


async def until(condition: Callable[[], Any]) -> None:
    with anyio.fail_after(20):
        while not condition():  # noqa: ASYNC110 - what is waited for happens in the server's threads
            await anyio.sleep(0.005)


def run(
    server: FakeServer,
    handler: Callable[[Delivery], Coroutine[Any, Any, Any]],
    path: Path,
    script: Callable[[AsyncAgent], Coroutine[Any, Any, None]] | None = None,
    secret: str = SECRET,
    **options: Any,
) -> Any:
    """Run an agent until its inbox is empty, or beside a script that stops it."""

    async def main() -> Any:
        async with AsyncClient(server.url, AGENT, secret) as client:
            agent = AsyncAgent(client, handler, state_dir=path, **options)
            if script is None:
                return await agent.run(until_empty=True)
            async with anyio.create_task_group() as group:
                group.start_soon(script, agent)
                return await agent.run()

    return anyio.run(main)


async def done(delivery: Delivery) -> None:
    """Nothing to do."""


def test_many_events_at_once_in_order_of_their_keys(server: FakeServer, tmp_path: Path) -> None:
    inbox, seen, most = server.inbox, [], [0, 0]
    for number in range(30):
        inbox.publish({"n": number}, ordering_key=f"k{number % 5}")

    async def handle(delivery: Delivery) -> dict[str, int]:
        most[0] += 1
        most[1] = max(most)
        await anyio.lowlevel.checkpoint()
        seen.append(delivery.event.payload["n"])
        most[0] -= 1
        return {"n": seen[-1]}

    summary = run(server, handle, tmp_path, concurrency=5)
    assert summary.acked == 30
    assert inbox.all_completed()
    assert most[1] <= 5
    for key in range(5):
        mine = [n for n in seen if n % 5 == key]
        assert mine == sorted(mine)


@pytest.mark.usefixtures("renewals_start_early")
def test_rung_renewed_and_stopped(server: FakeServer, tmp_path: Path) -> None:
    inbox = server.inbox
    inbox.next_poll_ms = 300_000

    async def handle(delivery: Delivery) -> None:
        event_id = delivery.event.event_id
        await until(lambda: inbox.rows[event_id].effects.count("renew") >= 3)

    async def script(agent: AsyncAgent) -> None:
        await until(lambda: server.streams_open == 1)
        await until(lambda: inbox.count("/claim") >= 1)
        inbox.publish()
        inbox.publish()
        await until(inbox.all_completed)
        agent.stop()

    summary = run(server, handle, tmp_path, script, lease_seconds=LONG_LEASE_SECONDS, concurrency=2)
    assert summary.acked == 2
    assert [row.generation for row in inbox.rows.values()] == [1, 1]


@pytest.mark.usefixtures("renewals_start_early")
def test_a_lost_lease_cancels_the_handler_and_settles_nothing(
    server: FakeServer, tmp_path: Path
) -> None:
    inbox, ends = server.inbox, []
    event_id = inbox.publish()

    def before(method: str, path: str, body: Any) -> Reply | None:
        if path.endswith("/renew"):
            return problem(409, "stale-claim", reason="reclaimed", current_generation=2)
        return None

    inbox.before = before

    async def handle(delivery: Delivery) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ends.append(delivery.stop_reason)

    async def script(agent: AsyncAgent) -> None:
        await until(lambda: ends)
        agent.stop()

    summary = run(server, handle, tmp_path, script, lease_seconds=LONG_LEASE_SECONDS)
    assert ends[0] is StopReason.LEASE_LOST
    assert summary.stopped >= 1
    assert "ack" not in inbox.rows[event_id].effects


def test_a_second_stop_cancels_and_gives_back(server: FakeServer, tmp_path: Path) -> None:
    inbox, begun = server.inbox, []
    event_id = inbox.publish()

    async def handle(delivery: Delivery) -> None:
        begun.append(1)
        await anyio.sleep_forever()

    async def script(agent: AsyncAgent) -> None:
        await until(lambda: begun)
        agent.stop()
        agent.stop()

    run(server, handle, tmp_path, script, drain_seconds=600)
    row = inbox.rows[event_id]
    assert (row.status, row.event["attempts"], row.last_error) == ("pending", 0, None)


def test_errors_verbs_and_what_was_finished_before(server: FakeServer, tmp_path: Path) -> None:
    inbox, worked = server.inbox, []
    bad, never, fine = inbox.publish(max_attempts=1), inbox.publish(), inbox.publish()

    async def handle(delivery: Delivery) -> Any:
        worked.append(delivery.event.event_id)
        if delivery.event.event_id == bad:
            raise ValueError("odd")
        return Reject("never") if delivery.event.event_id == never else {"n": 1}

    first = run(server, handle, tmp_path)
    assert (first.failed, first.rejected, first.acked) == (1, 1, 1)
    assert inbox.rows[bad].last_error["code"] == "ValueError"
    inbox.rows[fine].status = "pending"  # as if the ack had been lost
    assert run(server, handle, tmp_path).known == 1
    assert worked.count(fine) == 1


def test_a_wrong_secret_and_a_failing_hook_end_the_run_as_themselves(
    server: FakeServer, tmp_path: Path
) -> None:
    with pytest.raises(InvalidClient):
        run(server, done, tmp_path, secret="wrong")

    def hook(*_: object) -> None:
        raise ZeroDivisionError

    record = Record(state_directory(server.url, AGENT, tmp_path) / "record.sqlite3")
    record.move(Position(0, "ep_0"))
    record.close()
    with pytest.raises(ZeroDivisionError):
        run(server, done, tmp_path, recovery=hook)


def test_a_goodbye_and_silence_bring_a_new_stream(server: FakeServer, tmp_path: Path) -> None:
    server.heartbeat_seconds = 0.2

    async def script(agent: AsyncAgent) -> None:
        await until(lambda: server.streams_open == 1)
        server.say("reconnect", reason="shutdown", retry_after_ms=10)
        await until(lambda: server.streams_opened == 2)
        server.silent = True
        await until(lambda: server.streams_opened >= 3)
        agent.stop()

    run(server, done, tmp_path, partial(script))

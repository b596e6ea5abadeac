"""Whole runners that are shut out for a while: they go on asking, come back, and end when told to."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import anyio
import pytest

from restante_agent import AsyncAgent, AsyncClient, Delivery
from tests.sdk.conftest import Refusal, nobody
from tests.sdk.fake_answers import AGENT, SECRET, Reply, problem
from tests.sdk.fake_server import FakeServer
from tests.sdk.running import done, make, running, streaming
from tests.support.waiting import wait_until


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of a runner in real time: of a hundredth of a second."""
    monkeypatch.setattr("restante_agent.runtime.pacing.FAILURE_CEILING_SECONDS", 0.01)
    monkeypatch.setattr("restante_agent.runtime.reconnect.CEILING_SECONDS", 0.01)


@pytest.mark.usefixtures("quick")
def test_a_runner_comes_back_whole(
    server: FakeServer,
    tmp_path: Path,
    refusal: Refusal,
) -> None:
    """Its stream is revoked, everything is refused for a while; then it is rung and works again."""
    inbox = server.inbox
    with running(make(server, done, tmp_path)) as run:
        inbox.publish()
        wait_until(lambda: streaming(server) and inbox.all_completed(), "it works")
        server.refuse_streams = problem(401, "unauthenticated")
        inbox.before = refusal
        server.say("revoked")
        asked = len(inbox.requests)
        wait_until(lambda: len(inbox.requests) > asked + 10, "it goes on asking")
        assert run.thread.is_alive()
        server.refuse_streams, inbox.before = None, nobody
        wait_until(lambda: streaming(server), "it listens again")
        inbox.publish()
        wait_until(inbox.all_completed, "it works again")
        assert run.stop().acked == 2
    assert run.error is None


@pytest.mark.usefixtures("quick")
def test_the_async_runner_comes_back_whole_too(
    server: FakeServer,
    tmp_path: Path,
    refusal: Refusal,
) -> None:
    inbox = server.inbox

    async def handle(_: Delivery) -> None:
        await anyio.lowlevel.checkpoint()

    async def until(condition: Callable[[], object]) -> None:
        await anyio.to_thread.run_sync(lambda: wait_until(condition, "the agent's next step"))

    async def script(agent: AsyncAgent) -> None:
        inbox.publish()
        await until(lambda: streaming(server) and inbox.all_completed())
        server.refuse_streams = problem(401, "unauthenticated")
        inbox.before = refusal
        server.say("revoked")
        asked = len(inbox.requests)
        await until(lambda: len(inbox.requests) > asked + 10)
        server.refuse_streams, inbox.before = None, nobody
        inbox.publish()
        await until(inbox.all_completed)
        agent.stop()

    async def main() -> None:
        async with (
            AsyncClient(server.url, AGENT, SECRET) as client,
            anyio.create_task_group() as group,
        ):
            agent = AsyncAgent(client, handle, state_dir=tmp_path)
            group.start_soon(script, agent)
            summary = await agent.run(handle_signals=False)
            assert summary.acked == 2

    anyio.run(main)


@pytest.mark.usefixtures("quick")
def test_what_was_worked_is_acked_once_access_is_back(
    server: FakeServer, tmp_path: Path, refusal: Refusal
) -> None:
    inbox, begun, go = server.inbox, Event(), Event()
    inbox.publish()

    def handle(_: Delivery) -> None:
        begun.set()
        assert go.wait(30)

    with running(make(server, handle, tmp_path)) as run:
        assert begun.wait(30)
        inbox.before = refusal
        go.set()
        wait_until(lambda: inbox.count("/ack") or inbox.count("/token") > 1, "an ack is refused")
        inbox.before = nobody
        wait_until(inbox.all_completed, "acked")
        assert run.stop().acked == 1
    assert [row.generation for row in inbox.rows.values()] == [1]


def test_sigterm_ends_an_agent_that_is_shut_out(
    server: FakeServer, tmp_path: Path, refusal: Refusal
) -> None:
    """In the main thread, as `restante-agent listen` runs; its pauses are the real ones."""
    inbox = server.inbox
    inbox.publish()
    refused: list[str] = []

    def shut(method: str, path: str, body: Any) -> Reply | None:
        reply = refusal(method, path, body) if inbox.all_completed() else None
        if reply is not None:
            refused.append(path)
            if len(refused) == 3:
                os.kill(os.getpid(), signal.SIGTERM)
        return reply

    inbox.before = shut
    assert make(server, done, tmp_path).run().acked == 1
    assert len(refused) >= 3

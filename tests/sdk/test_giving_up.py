"""A run until the inbox is empty ends when no server answers; any other asks for ever."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner

from restante_agent import (
    Agent,
    AsyncAgent,
    AsyncClient,
    Client,
    ConfigurationError,
    CursorGone,
    Delivery,
    ServerFailure,
    Unreachable,
)
from restante_agent.cli.main import main
from restante_agent.runtime.intake import Intake
from restante_agent.runtime.plan import Plan
from restante_agent.runtime.script import play
from tests.sdk.fake_answers import AGENT, SECRET, Reply, problem
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.running import Asking
from tests.support.ports import free_port

Make = Callable[..., Asking]


def nowhere() -> str:
    """An address at which nothing listens."""
    return f"http://127.0.0.1:{free_port()}"


def unreachable(_method: str, _path: str, _body: Any) -> Reply | None:
    raise Unreachable("no answer")


def asked_until(run: Asking, error: type[Exception]) -> float:
    """Seconds until it raised that."""
    began = run.clock.now

    def ask() -> None:
        for _ in range(1000):
            run.once()

    with pytest.raises(error):
        ask()
    return run.clock.now - began


def test_a_server_that_never_answers_is_given_up_in_time(asking: Make, inbox: FakeInbox) -> None:
    inbox.before = unreachable
    run = asking(until_empty=True, give_up_seconds=60.0, patient=False)
    assert 10 < asked_until(run, Unreachable) <= 60


def test_it_is_given_up_in_time_after_it_has_answered(asking: Make, inbox: FakeInbox) -> None:
    run = asking(until_empty=True, give_up_seconds=60.0, patient=False)
    run.once()
    run.clock.now += 600
    inbox.before = lambda *_: problem(500, "internal-error")
    assert asked_until(run, ServerFailure) <= 60 + 2.4  # the pause after an answer comes first


def test_a_wait_that_the_server_names_is_not_undercut_to_fit_in(
    asking: Make, inbox: FakeInbox
) -> None:
    inbox.before = lambda *_: problem(503, "overloaded", retry_after=90)
    run = asking(until_empty=True, give_up_seconds=60.0, patient=False)
    assert asked_until(run, ServerFailure) == 0


def test_an_outage_that_is_shorter_is_waited_out(asking: Make, inbox: FakeInbox) -> None:
    run = asking(until_empty=True, give_up_seconds=60.0, patient=False)
    inbox.publish()
    for _ in range(20):
        inbox.before = unreachable
        run.once()
        inbox.before = lambda *_: None
        run.once()
    assert run.board.pacing.gives_up(0.0) is False


def test_what_is_held_is_worked_to_its_end_first(asking: Make, inbox: FakeInbox) -> None:
    run = asking(until_empty=True, give_up_seconds=0.0, patient=False)
    inbox.publish()
    claim = play(run.client, run.inquiry.claim(10))
    assert claim is not None
    with run.board.changed:
        (held,) = Intake(run.board, Plan()).begin(claim, asked=10)
    inbox.before = unreachable
    run.once()
    run.board.leases.drop(held)
    assert asked_until(run, Unreachable) <= 2


def test_a_cursor_that_stays_gone_is_given_up_too(asking: Make, inbox: FakeInbox) -> None:
    run = asking(until_empty=True, give_up_seconds=60.0, patient=False)
    where = {"reason": "retention", "oldest_cursor": 1, "head": 5, "epoch": "ep_1"}
    gone = problem(410, "cursor-gone", **where, lost=None, state_url=None)
    inbox.before = lambda _method, path, _body: gone if path.endswith("/claim") else None
    assert asked_until(run, CursorGone) <= 60


def test_any_other_run_asks_for_ever(asking: Make, inbox: FakeInbox) -> None:
    inbox.before = unreachable
    run = asking()
    for _ in range(500):
        assert run.once() == 0


def test_a_negative_patience_is_refused(client: Client, tmp_path: Path) -> None:
    agent = Agent(client, lambda _: None, state_dir=tmp_path)
    with pytest.raises(ConfigurationError, match="give_up_seconds"):
        agent.run(until_empty=True, give_up_seconds=-1)


def test_async_runs_give_up_too(tmp_path: Path) -> None:
    async def run() -> None:
        async with AsyncClient(nowhere(), AGENT, SECRET) as client:

            async def handle(_: Delivery) -> None:
                await anyio.lowlevel.checkpoint()

            agent = AsyncAgent(client, handle, state_dir=tmp_path, stream=False)
            await agent.run(until_empty=True, give_up_seconds=0)

    with pytest.raises(Unreachable):
        anyio.run(run)


def test_the_command_ends_with_a_sentence_and_exit_6(tmp_path: Path) -> None:
    words = ["listen", "--until-empty", "--give-up", "0", "--no-stream", "--exec", "cat", "--json"]
    where = ["--url", nowhere(), "--client-id", AGENT, "--state-dir", str(tmp_path)]
    ended = CliRunner().invoke(main, [*words, *where], env={"RESTANTE_CLIENT_SECRET": SECRET})
    assert ended.exit_code == 6
    assert json.loads(ended.stdout)["error"]["kind"] == "Unreachable"
    assert "give-up seconds=0" in ended.stderr or "restante-agent: " in ended.stderr

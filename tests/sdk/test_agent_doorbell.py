"""The runner when the stream breaks, when there is none, and when the cursor is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sdk.fake_answers import problem
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.fake_server import FakeServer
from tests.sdk.running import claims, done, make, running, streaming
from tests.support.waiting import wait_until


def test_without_a_stream_it_polls(server: FakeServer, tmp_path: Path) -> None:
    inbox = server.inbox
    server.refuse_streams = problem(503, "overloaded", retry_after=60)
    inbox.next_poll_ms = 0
    with running(make(server, done, tmp_path)):
        wait_until(lambda: inbox.count("/claim") >= 1, "the first look")
        inbox.publish()
        wait_until(inbox.all_completed, "found by polling")
    assert server.streams_opened == 0


def test_the_stream_comes_back_after_a_goodbye_and_after_silence(
    live_inbox: FakeInbox, server: FakeServer, tmp_path: Path
) -> None:
    server.heartbeat_seconds = 0.2
    live_inbox.next_poll_ms = 300_000
    with running(make(server, done, tmp_path)):
        wait_until(lambda: streaming(server), "open")
        server.say("reconnect", reason="shutdown", retry_after_ms=10)
        wait_until(lambda: server.streams_opened == 2, "opened again")
        server.silent = True
        wait_until(lambda: server.streams_opened >= 3, "a silent stream is given up")
        server.silent = False
        live_inbox.publish()
        wait_until(live_inbox.all_completed, "rung again")


def test_a_revoked_stream_makes_it_ask_for_a_new_token(server: FakeServer, tmp_path: Path) -> None:
    with running(make(server, done, tmp_path)):
        wait_until(lambda: streaming(server), "open")
        assert server.inbox.tokens_issued == 1
        server.say("revoked")
        wait_until(lambda: server.streams_opened == 2, "opened again")
        assert server.inbox.tokens_issued == 2


@pytest.mark.parametrize("has_state", [True, False])
def test_a_gone_cursor_is_answered_by_recovery_and_never_repeated(
    server: FakeServer, tmp_path: Path, *, has_state: bool
) -> None:
    inbox, recovered = server.inbox, []
    inbox.has_state = has_state
    inbox.publish()
    with running(make(server, done, tmp_path)):
        wait_until(lambda: streaming(server), "open")
        wait_until(inbox.all_completed, "worked")
        inbox.publish()
        wait_until(inbox.all_completed, "worked")
        # an empty claim after the ring at 2 makes the position safe to keep
        wait_until(lambda: any(b.get("after_cursor") == 2 for b in claims(inbox)), "kept")
    with inbox.lock:
        inbox.epoch = "ep_2"
        inbox.requests.clear()
        inbox.publish()
    agent = make(
        server,
        done,
        tmp_path,
        recovery=lambda gone, state: recovered.append((gone, state)),
    )
    assert agent.run(until_empty=True).acked == 1
    ((gone, state),) = recovered
    assert (gone.reason, gone.epoch) == ("epoch", "ep_2")
    assert (state is not None) is has_state
    assert inbox.count("/state") == 1
    epochs = [body.get("epoch") for body in claims(inbox)]
    assert epochs[0] == "ep_1"
    assert set(epochs[1:]) == {"ep_2"}

"""The runner and the command against a real server that is killed, and agents that are."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from threading import Thread

import anyio
import pytest

from restante_agent import Agent, AsyncAgent, Client, Delivery, Publication, Summary
from tests.sdk.real_server import PROJECT, Account, Server
from tests.support.processes import Process
from tests.support.waiting import wait_until

ODD = {
    "type": "odd",
    "text": 'Grüße \u2028 "quoted" \\ / 日本 🎈 \u0000\u001b',
    "big": 12345678901234567890123,
    "small": -0.1e-7,
    "nested": [[], {}, None, True, {"": [1.5, "x"]}],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("served"), RESTANTE_HEARTBEAT_SECONDS="2")
    yield made
    made.served.process.kill_group()


@pytest.fixture
def listen(tmp_path: Path) -> Iterator[Callable[..., Process]]:
    """Starts `restante-agent listen`; what still runs after the test is killed."""
    started: list[Process] = []

    def start(account: Account, *words: str) -> Process:
        log = tmp_path / f"listen-{len(started)}.log"
        started.append(account.start("listen", *words, state=tmp_path / "state", log=log))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@cache
def watcher(account: Account) -> Client:
    """One client an account, so that looking again costs one request."""
    return account.client()


def publish(account: Account, payload: object, **members: object) -> str:
    publication = Publication(
        recipients=[account.client_id],
        project=PROJECT,
        payload=payload,
        **members,  # type: ignore[arg-type]  # as given
    )
    return watcher(account).publish(publication).events[0].event_id


def statuses(account: Account) -> list[str]:
    return [event.status for event in watcher(account).read(0, limit=100).events]


def test_rung_by_a_publish_and_handed_the_payload_unchanged(server: Server, tmp_path: Path) -> None:
    account, seen = server.agent(), []

    def handle(delivery: Delivery) -> dict[str, object]:
        seen.append(delivery)
        return {"fence": delivery.fence}

    with account.client() as client:
        agent = Agent(client, handle, state_dir=tmp_path)
        summary: list[Summary] = []
        thread = Thread(target=lambda: summary.append(agent.run()))
        thread.start()
        try:
            wait_until(lambda: client.stats().streams == 1, "the stream is open")
            event_id = publish(account, ODD, ordering_key="k")
            wait_until(lambda: client.receipt(event_id).status == "completed", "worked")
        finally:
            agent.stop()
            thread.join(30)
        assert summary[0].acked == 1
        assert seen[0].event.payload == ODD
        assert (seen[0].generation, seen[0].fence) == (1, 1)
        assert client.receipt(event_id).result == {"fence": 1}


def test_a_result_that_is_no_text_is_left_out_and_its_event_is_done(
    server: Server, tmp_path: Path, listen: Callable[..., Process]
) -> None:
    """The half of a pair is JSON, and no server takes it; so is what lies too deep."""
    account, deep = server.agent(), {"a": [[]]}
    for _ in range(80):
        deep = {"a": [deep]}
    results = [{"a": "\ud800"}, deep, {"a": 1}]
    ids = [publish(account, {"type": "job", "n": number}) for number in range(len(results))]
    with account.client() as client:
        agent = Agent(client, lambda d: results[d.event.payload["n"]], state_dir=tmp_path)
        assert agent.run(until_empty=True).acked == len(results)
        receipts = [client.receipt(event_id) for event_id in ids]
    assert [(one.status, one.result) for one in receipts] == [
        ("completed", None),
        ("completed", None),
        ("completed", {"a": 1}),
    ]


def test_a_killed_listener_and_a_killed_server_lose_nothing(
    server: Server, tmp_path: Path, listen: Callable[..., Process]
) -> None:
    account = server.agent()
    out, gate = tmp_path / "out", tmp_path / "gate"
    options = {"backoff_base_seconds": 0, "backoff_max_seconds": 0}
    for number in range(6):
        publish(account, {"type": "job", "n": number}, ordering_key="k", **options)
    command = f"[ -e '{gate}' ] || sleep 60; cat >> '{out}'"
    listener = listen(account, "--exec", command)
    wait_until(lambda: "claimed" in statuses(account), "the first is held", timeout_seconds=60)
    listener.kill()
    assert not out.exists()
    gate.touch()
    listener = listen(account, "--exec", command)
    wait_until(lambda: "completed" in statuses(account), "taken over", timeout_seconds=60)
    server.served.restart()  # SIGKILL to master and workers
    publish(account, {"type": "job", "n": 6}, ordering_key="k")
    wait_until(lambda: statuses(account) == ["completed"] * 7, "all done", timeout_seconds=60)
    listener.signal(signal.SIGTERM)
    assert listener.popen.wait(30) == 0, listener.tail()
    worked = [json.loads(line)["payload"]["n"] for line in out.read_text().splitlines()]
    assert worked == list(range(7))


def test_sigterm_gives_back_what_it_cannot_finish(
    server: Server, listen: Callable[..., Process]
) -> None:
    account = server.agent()
    event_id = publish(account, {"type": "long"})
    listener = listen(account, "--exec", "sleep 60", "--drain", "0.2")
    wait_until(lambda: statuses(account) == ["claimed"], "held", timeout_seconds=60)
    listener.signal(signal.SIGTERM)
    assert listener.popen.wait(30) == 0, listener.tail()
    with account.client() as client:
        detail = client.event(event_id)
    assert (detail.status, detail.attempts, detail.last_error) == ("pending", 0, None)


def test_the_command_by_hand(server: Server, tmp_path: Path) -> None:
    account = server.agent()
    state = tmp_path / "state"

    def run(*words: str, stdin: str = "", code: int = 0) -> dict[str, object]:
        done = account.run(*words, "--json", state=state, stdin=stdin)
        assert done.returncode == code, done.stderr
        answer = json.loads(done.stdout)
        assert isinstance(answer, dict)
        return answer

    made = run("publish", "--to", account.client_id, "--project", PROJECT, stdin=json.dumps(ODD))
    (event,) = run("claim", "--lease", "30")["events"]
    assert event["payload"] == ODD
    assert event["event_id"] == made["events"][0]["event_id"]
    run("renew", event["event_id"], "--generation", "1", "--progress", '{"step": 1}')
    run("ack", event["event_id"], "--generation", "1", "--result", '{"ok": true}')
    stale = run("release", event["event_id"], "--generation", "1", code=4)
    assert stale["error"]["reason"] == "completed"
    assert run("stats")["head"] == 1
    (shown,) = run("tail")["events"]
    assert shown["status"] == "completed"


def test_the_async_runner_works_a_backlog(server: Server, tmp_path: Path) -> None:
    account = server.agent()
    with account.client() as client:
        client.publish_many(
            [
                Publication(
                    recipients=[account.client_id],
                    project=PROJECT,
                    payload={"type": "n", "n": n},
                    ordering_key=f"k{n % 7}",
                )
                for n in range(60)
            ]
        )
    seen: list[int] = []

    async def handle(delivery: Delivery) -> None:
        seen.append(delivery.event.payload["n"])

    async def main() -> Summary:
        async with account.async_client() as client:
            return await AsyncAgent(client, handle, state_dir=tmp_path, concurrency=10).run(
                until_empty=True
            )

    assert anyio.run(main).acked == 60
    for key in range(7):
        mine = [n for n in seen if n % 7 == key]
        assert mine == sorted(mine)
    assert sorted(seen) == list(range(60))

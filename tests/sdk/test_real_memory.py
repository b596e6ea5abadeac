"""Memory, state and turns against a real server; a runner whose handler returns turns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from restante_agent import (
    Ack,
    Agent,
    AsyncAgent,
    Delivery,
    MemoryView,
    MemoryWrite,
    NotFound,
    Publication,
    Reject,
    Release,
    RevisionGone,
    Settlement,
    State,
    Turn,
    TurnConflict,
    VersionConflict,
    catch_up,
    catch_up_async,
)
from restante_agent.errors import CursorGone
from restante_agent.model.memory import MemoryEntry
from restante_agent.runtime.record import Position, Record
from tests.sdk.real_server import PROJECT, Account, Server

ALL = ("read", "claim", "publish", "memory")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("served"))
    yield made
    made.served.stop()


def to(account: Account, **members: Any) -> Publication:
    return Publication(
        recipients=[account.client_id],
        project=PROJECT,
        payload={"type": "note", **members},
        max_attempts=1,
    )


def test_a_key_written_read_merged_and_deleted(server: Server) -> None:
    agent = server.agent(*ALL)
    with agent.client() as client:
        key = "répertoire/a b?#%"
        first = client.memory_put(PROJECT, key, {"n": 2**70, "x": None}, if_version=0)
        assert (first.version, first.value, first.deleted) == (1, {"n": 2**70, "x": None}, False)
        assert client.memory_get(PROJECT, key) == first
        merged = client.memory_patch(PROJECT, key, {"x": 1}, if_version=1)
        assert merged.value == {"n": 2**70, "x": 1}
        with pytest.raises(VersionConflict) as refused:
            client.memory_put(PROJECT, key, 1, if_version=1)
        assert refused.value.current_version == 2
        gone = client.memory_delete(PROJECT, key)
        assert (gone.deleted, gone.value, gone.version) == (True, None, 3)
        with pytest.raises(NotFound):
            client.memory_get(PROJECT, key)
        assert client.memory_put(PROJECT, key, None).value is None
        changes = client.memory_list(0)
        assert [(e.key, e.version) for e in changes.entries] == [(key, 4)]
        with pytest.raises(RevisionGone) as lost:
            client.memory_list(9)
        assert lost.value.state_url is not None
        assert client.state(lost.value.state_url).memory_revision == 4


def test_a_service_writes_anothers_memory(server: Server) -> None:
    agent, scribe = server.agent(*ALL), server.service("tenant:memory:write")
    with agent.client() as client, scribe.client() as writer:
        entry = writer.memory_put(PROJECT, "k", 1, agent_id=agent.client_id)
        (event,) = client.read().events
        assert (event.type, event.payload["version"]) == ("memory_update", entry.version)


def test_state_and_changes_converge(server: Server) -> None:
    agent = server.agent(*ALL)
    with agent.client() as client:
        for number in range(25):
            client.memory_put(PROJECT, f"k{number}", number)
        first = client.state(limit=10)
        assert len(first.memory) == 10
        assert client.state(page_token=first.next_page_token).next_page_token is None
        view = MemoryView()
        catch_up(client, view)
        assert view.values(PROJECT) == {f"k{number}": number for number in range(25)}
        client.memory_delete(PROJECT, "k3")
        view.take([client.memory_put(PROJECT, "k4", "new")])
        catch_up(client, view)
        assert view.get(PROJECT, "k3") is None
        assert view.get(PROJECT, "k4").value == "new"  # type: ignore[union-attr]  # it is there

    async def likewise() -> None:
        other = MemoryView()
        async with agent.async_client() as client:
            await client.memory_put(PROJECT, "async", 1)
            await catch_up_async(client, other)
        assert other.values(PROJECT) == {**view.values(PROJECT), "async": 1}

    anyio.run(likewise)


def test_a_turn_by_hand(server: Server) -> None:
    agent, other = server.agent(*ALL), server.agent()
    with agent.client() as client:
        client.publish_many([to(agent), to(agent)])
        one, two = client.claim(limit=2).events
        parts: dict[str, Any] = {
            "memory": [MemoryWrite(PROJECT, "k", {"a": 1}, if_version=0)],
            "publish": [to(other)],
            "projects": [PROJECT],
        }
        settlements = [
            Settlement(one.event_id, 1, Ack({"n": 1})),
            Settlement(two.event_id, 1, Release(delay_seconds=60)),
        ]
        done = client.turn(settlements, idempotency_key="first", **parts)
        assert [a.status for a in (*done.ack, *done.release)] == ["completed", "pending"]
        assert [(e.key, e.version) for e in done.memory] == [("k", 1)]
        assert [e.recipient_id for e in done.publish] == [other.client_id]
        assert client.turn(settlements, idempotency_key="first", **parts).replayed
        with pytest.raises(TurnConflict) as refused:
            client.turn(settlements, **parts)
        assert refused.value.is_stale
        assert {f["part"] for f in refused.value.failures} == {"ack", "release", "memory"}
        assert "memory[0]" in str(refused.value)


def answers(other: Account, seen: list[Delivery]) -> Any:
    """A handler: what it returns for the `n` of an event."""

    def handle(delivery: Delivery) -> Any:
        seen.append(delivery)
        number = delivery.event.payload.get("n")
        match number:
            case 0:
                return Turn(
                    ack={"done": True}, publish=[to(other, n=10)], memory={"k": 1, "gone": None}
                )
            case 1:
                return Turn(reject=Reject("never"), memory=[MemoryWrite(PROJECT, "l", 2)])
            case 2:  # what it says cannot be: the attempt fails, and nothing of it is done
                return Turn(memory=[MemoryWrite(PROJECT, "k", 3, if_version=99)])
            case _:
                return Turn(ack=Ack(), release=Release())

    return handle


@pytest.mark.parametrize("kind", ["blocking", "async"])
def test_a_handler_returns_turns(server: Server, tmp_path: Path, kind: str) -> None:
    agent, other = server.agent(*ALL), server.agent()
    with agent.client() as client:
        client.publish_many([to(agent, n=n) for n in range(4)])
        client.memory_put(PROJECT, "gone", 1)
        seen: list[Delivery] = []
        handle = answers(other, seen)
        if kind == "blocking":
            summary = Agent(client, handle, state_dir=tmp_path).run(
                until_empty=True, handle_signals=False
            )
        else:

            async def handle_async(delivery: Delivery) -> Any:
                return handle(delivery)

            async def run() -> Any:
                async with agent.async_client() as working:
                    return await AsyncAgent(working, handle_async, state_dir=tmp_path).run(
                        until_empty=True, handle_signals=False
                    )

            summary = anyio.run(run)
        assert (summary.acked, summary.rejected, summary.failed) == (1, 1, 2)
        assert client.receipt(seen[0].event.event_id).result == {"done": True}
        assert client.memory_get(PROJECT, "k").value == 1
        assert client.memory_get(PROJECT, "l").value == 2
        with pytest.raises(NotFound):
            client.memory_get(PROJECT, "gone")
        failed = client.event(seen[2].event.event_id).last_error
        assert failed is not None
        assert (failed["code"], failed["outcome"]) == ("turn_conflict", "none")
        odd = client.event(seen[3].event.event_id).last_error
        assert odd is not None
        assert odd["code"] == "handler_result"
    with other.client() as reading:
        assert [e.payload["n"] for e in reading.read().events] == [10]


def test_a_runner_whose_cursor_is_gone_is_given_the_whole_state(
    server: Server, tmp_path: Path
) -> None:
    agent = server.agent(*ALL)
    with agent.client() as client:
        for number in range(5):
            client.memory_put(PROJECT, f"k{number}", number)
        client.memory_delete(PROJECT, "k0")
        client.publish(to(agent, n=1))
        given: list[tuple[CursorGone, State | None]] = []
        runner = Agent(
            client,
            lambda _: None,
            state_dir=tmp_path,
            recovery=lambda gone, state: given.append((gone, state)),
        )
        record = Record(runner.state_dir / "record.sqlite3")
        record.reset(Position(50, "of-another-time"))
        record.close()
        assert runner.run(until_empty=True, handle_signals=False).acked == 1
        ((gone, state),) = given
        assert gone.reason == "epoch"
        assert state is not None
        assert {e.key: e.value for e in state.memory} == {f"k{n}": n for n in range(1, 5)}
        assert (state.cursor, state.memory_revision) == (1, 6)


def entry(key: str, version: int, value: Any = 1, *, deleted: bool = False) -> MemoryEntry:
    return MemoryEntry(project="p", key=key, version=version, value=value, deleted=deleted)


def state(revision: int, *entries: MemoryEntry, epoch: str = "e") -> State:
    return State(cursor=0, epoch=epoch, memory_revision=revision, memory=entries)


def test_a_view_keeps_the_higher_version() -> None:
    view = MemoryView()
    view.take([entry("k", 3, "new"), entry("k", 2, "old"), entry("l", 1)])
    assert view.values("p") == {"k": "new", "l": 1}
    view.take([entry("l", 4, deleted=True), entry("l", 1)])
    assert view.values("p") == {"k": "new"}
    # a state that was fixed before the own write keeps it, and takes away what it has not
    view.take([entry("m", 9, "own")])
    view.replace(state(5, entry("n", 5)))
    assert view.values("p") == {"n": 1} | {"m": "own"}


def test_of_another_epoch_a_view_keeps_nothing() -> None:
    view = MemoryView()
    view.replace(state(5, entry("k", 5)))
    view.take([entry("lost", 900)])
    view.replace(state(6, entry("k", 6, 2), epoch="f"))
    assert view.values("p") == {"k": 2}
    assert view.revision == 6


def test_memory_by_hand(server: Server, tmp_path: Path) -> None:
    agent = server.agent(*ALL)

    def run(*words: str, stdin: str = "") -> tuple[int, str, str]:
        ended = agent.run("memory", *words, state=tmp_path, stdin=stdin)
        return ended.returncode, ended.stdout.strip(), ended.stderr

    here = ("--project", PROJECT)
    assert run("put", "a/b", '{"n": 1}', *here)[:2] == (0, "a/b is at version 1")
    assert run("put", "c", *here, stdin='"text"')[0] == 0
    assert run("get", "a/b", *here)[:2] == (0, '{"n":1}')
    assert run("put", "c", "2", "--if-version", "1", *here)[0] == 3
    code, _, told = run("put", "c", "text", *here)
    assert (code, "needs its quotes" in told) == (2, True)
    listed = run("ls")[1].splitlines()
    assert [line.split()[1] for line in listed[1:]] == ["a/b", "c"]
    assert run("rm", "c", *here)[:2] == (0, "c is gone since version 3")
    assert len(run("ls", "--project", PROJECT, "--json")[1].split('"project"')) == 2

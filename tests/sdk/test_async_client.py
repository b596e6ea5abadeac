"""The async client has the blocking one's methods and comes to the same results."""

from __future__ import annotations

import inspect
from random import Random

import anyio
import pytest

from restante_agent import AsyncClient, Client, Publication, Ring, StaleClaim
from tests.sdk.conftest import BASE, HandClock
from tests.sdk.fake_answers import AGENT, SECRET, problem
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.fake_server import FakeServer, transport_for
from tests.sdk.test_client import bodies, fail_first, lose_first


def make(inbox: FakeInbox, clock: HandClock) -> AsyncClient:
    return AsyncClient(
        BASE,
        AGENT,
        SECRET,
        transport=transport_for(inbox),
        random=Random(7),
        monotonic=clock.monotonic,
        sleep=clock.asleep,
    )


def test_both_clients_have_the_same_calls() -> None:
    def calls(kind: type) -> dict[str, str]:
        return {
            name: str(inspect.signature(member))
            for name, member in vars(kind).items()
            if getattr(member, "__module__", "").startswith("restante_agent.wire")
        }

    assert calls(Client) == calls(AsyncClient)
    assert len(calls(Client)) == 26


def test_the_main_job(inbox: FakeInbox, clock: HandClock) -> None:
    async def run() -> None:
        async with make(inbox, clock) as client:
            await client.publish(
                Publication(recipients=[AGENT], project="demo", type="t", payload={"a": 1})
            )
            lose_first(inbox, "/claim")
            claim = await client.claim(consumer="c")
            (event,) = claim.events
            await client.ack(event.event_id, event.claim_generation)
            with pytest.raises(StaleClaim):
                await client.renew(event.event_id, 1)

    anyio.run(run)
    assert len({body["claim_id"] for body in bodies(inbox, "/claim")}) == 1
    assert inbox.all_completed()


def test_concurrent_calls_share_one_token_request(inbox: FakeInbox, clock: HandClock) -> None:
    fail_first(inbox, "/token", problem(503, "overloaded"))

    async def run() -> None:
        async with make(inbox, clock) as client, anyio.create_task_group() as group:
            for _ in range(10):
                group.start_soon(client.stats)

    anyio.run(run)
    assert inbox.tokens_issued == 1
    assert inbox.count("/stats") == 10


def test_the_doorbell_rings(server: FakeServer) -> None:
    async def run() -> None:
        async with AsyncClient(server.url, AGENT, SECRET) as client:
            with anyio.fail_after(10):
                async with client.subscribe() as stream:
                    async for frame in stream:
                        if isinstance(frame, Ring):
                            assert frame.cursor_hint == 1
                            return
                        server.inbox.publish()

    anyio.run(run)

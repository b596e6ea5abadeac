"""Harnesses that subscribed to the open mail are told when it is another; with the official client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.types import ResourceUpdatedNotification

from restante_agent.mcp.desk import Rules
from restante_agent.mcp.server import PENDING, inbox_server
from tests.sdk.mcp_harness import ALL, mail
from tests.sdk.real_server import PROJECT, Server
from tests.support.waiting import wait_until

SECONDS = 30


async def shown(client: Client) -> str:
    return (await client.read_resource(PENDING)).contents[0].text  # type: ignore[union-attr]  # it is text


def streams(agent: Any) -> int:
    with agent.client() as client:
        return client.stats().streams or 0


def test_a_harness_that_listens_is_told_of_mail_and_of_nothing_else(
    real_server: Server, tmp_path: Path
) -> None:
    agent = real_server.agent(*ALL)

    async def main() -> None:
        served = inbox_server(agent.async_client(), Rules(), state_dir=tmp_path)
        async with served as made, Client(made) as client:
            assert client.server_capabilities.resources is not None
            assert client.server_capabilities.resources.subscribe is True
            await shown(client)
            assert streams(agent) == 0, "nobody has subscribed"
            with anyio.fail_after(SECONDS):
                async with client.listen(resource_subscriptions=[PENDING]) as told:
                    for number in range(2):
                        mail(agent, n=number)
                        event = await anext(told)
                        assert event.uri == PENDING  # type: ignore[union-attr]  # nothing else was asked for
                        assert await shown(client)
            # a server writes down its streams a moment later
            await anyio.to_thread.run_sync(
                lambda: wait_until(lambda: streams(agent) == 1, "one stream is open")
            )

    anyio.run(main)


@pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")
def test_a_harness_of_an_earlier_version_subscribes_and_leaves(
    real_server: Server, tmp_path: Path
) -> None:
    agent = real_server.agent(*ALL)
    came: list[str] = []

    async def main() -> None:
        rung = anyio.Event()

        async def heard(message: Any) -> None:
            if isinstance(message, ResourceUpdatedNotification):
                came.append(str(message.params.uri))
                rung.set()

        rules = Rules(projects=[PROJECT])
        served = inbox_server(agent.async_client(), rules, state_dir=tmp_path)
        async with (
            served as made,
            Client(made, mode="legacy", message_handler=heard) as client,
        ):
            assert client.server_capabilities.resources is not None
            assert client.server_capabilities.resources.subscribe is True
            await client.subscribe_resource("restante://inbox/other")
            await client.subscribe_resource(PENDING)
            mail(agent)
            with anyio.fail_after(SECONDS):
                await rung.wait()
            assert came == [PENDING]
            await client.unsubscribe_resource(PENDING)

    anyio.run(main)

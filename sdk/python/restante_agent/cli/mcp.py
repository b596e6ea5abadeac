"""`restante-agent mcp`: the inbox for a model's harness, over stdio."""

from __future__ import annotations

import logging
import sys

import anyio
import click

from restante_agent.cli.connection import Connection, connected_without_json, of_projects
from restante_agent.errors import ConfigurationError
from restante_agent.wire.retry import RetryPolicy

RETRY = RetryPolicy(attempts=4, budget_seconds=10.0)
"""A harness ends calls that take long; the model is told to call again."""


@click.command("mcp")
@connected_without_json
@of_projects
@click.option(
    "--lease",
    "lease_seconds",
    type=click.IntRange(10, 43_200),
    default=120,
    show_default=True,
    help="Seconds; renewed while the harness works.",
)
@click.option(
    "--idle",
    "idle_seconds",
    type=click.FloatRange(1),
    default=1800.0,
    show_default=True,
    help="Seconds after which an event goes back of which the model says nothing.",
)
@click.option(
    "--most-held",
    type=click.IntRange(1, 100),
    default=10,
    show_default=True,
    help="Events held at once.",
)
@click.option("--consumer", help="A name for this holder; by default one per host and process.")
def mcp(
    connection: Connection,
    /,
    *,
    projects: tuple[str, ...],
    lease_seconds: int,
    idle_seconds: float,
    most_held: int,
    consumer: str | None,
) -> None:
    """Serve the inbox to a model's harness (Model Context Protocol, stdio).

    A harness starts it and gives its model the tools: wait, claim, held, renew, ack, release, reject,
    turn, publish, receipt, memory_get, memory_list, memory_put and memory_delete. It ends with its stdin;
    what is held then goes back.

    Needs `pip install 'restante-agent[mcp]'`, or in a clone `pip install './sdk/python[mcp]'`.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(asctime)s %(message)s")
    try:
        from restante_agent.mcp.desk import Rules  # noqa: PLC0415 - an extra, for this command alone
        from restante_agent.mcp.server import inbox_server  # noqa: PLC0415 - likewise
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "pip install 'restante-agent[mcp]', or in a clone './sdk/python[mcp]', brings what is missing"
        ) from error
    rules = Rules(projects or None, lease_seconds, idle_seconds, most_held)
    client = connection.async_client(retry=RETRY)

    async def serve() -> None:
        served = inbox_server(client, rules, state_dir=connection.state_dir, consumer=consumer)
        async with served as server:
            await server.run_stdio_async()

    anyio.run(serve)

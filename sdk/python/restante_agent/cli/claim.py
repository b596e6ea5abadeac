"""`restante-agent claim`: take events by hand; settle them with ack, release, reject."""

from __future__ import annotations

import click

from restante_agent.cli.connection import Connection, connected, of_projects
from restante_agent.cli.screen import events, say, write_json


@click.command()
@connected
@click.option("--limit", type=int, default=1, show_default=True)
@click.option("--lease", "lease_seconds", type=int, default=60, show_default=True, help="Seconds.")
@of_projects
@click.option("--consumer", help="A name for this holder.")
@click.option("--claim-id", help="Repeat a claim whose answer was lost.")
@click.option("--wait", "wait_seconds", type=int, help="Seconds (at most 30) to wait for events.")
def claim(
    connection: Connection,
    /,
    *,
    limit: int,
    lease_seconds: int,
    projects: tuple[str, ...],
    consumer: str | None,
    claim_id: str | None,
    wait_seconds: int | None,
) -> None:
    """Take events under a lease."""
    with connection.client() as client:
        taken = client.claim(
            limit=limit,
            lease_seconds=lease_seconds,
            projects=projects or None,
            consumer=consumer,
            claim_id=claim_id,
            wait_seconds=wait_seconds,
        )
    if connection.as_json:
        write_json(taken.raw)
    elif taken.events:
        events((event.raw for event in taken.events), claimed=True)
    else:
        say(f"Nothing to claim{f' ({taken.reason})' if taken.reason else ''}.")

"""`restante-agent publish`: one message to one or more agents."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import click

from restante_agent.cli.connection import Connection, connected
from restante_agent.cli.screen import table, write_json
from restante_agent.cli.values import instant, json_object
from restante_agent.model.publish import Publication

PRESENCE = {"stream": "connected", "poll": "polling", "callback": "called", "away": "away"}
"""What a person reads for `reachability.mode`."""


@click.command()
@connected
@click.argument("payload", type=json_object, default="-", metavar="[PAYLOAD]")
@click.option("--to", "recipients", multiple=True, required=True, help="agt_…; repeatable.")
@click.option(
    "--project",
    envvar="RESTANTE_PROJECT",
    show_envvar=True,
    required=True,
    help="The project it belongs to; every recipient must have it.",
)
@click.option("--type", "type_", help="Defaults to the payload's own `type`.")
@click.option("--priority", type=int, help="-100 to 100; the highest is claimed first.")
@click.option("--ordering-key", help="Events of one key are worked one after the other.")
@click.option("--correlation-id", help="What it belongs to; receipts can be listed by it.")
@click.option("--causation-id", help="What it follows from.")
@click.option("--reply-to", help="agt_… that answers should go to.")
@click.option("--delay", "delay_seconds", type=float, help="Seconds until it is available.")
@click.option(
    "--at",
    "available_at",
    type=instant,
    metavar="INSTANT",
    help="When it is available, as 2026-01-31T12:00:00Z.",
)
@click.option("--expires-in", "expires_in_seconds", type=float, help="Seconds to be started in.")
@click.option("--max-attempts", type=int, help="1 to 100; the server's default is 5.")
@click.option(
    "--supersedes-key",
    help="Older events of this key that nobody holds are cancelled: only the newest counts.",
)
@click.option("--corrects", help="evt_… that this one replaces.")
@click.option(
    "--report",
    multiple=True,
    help="quarantined, expired or cancelled; repeatable. An agent that publishes is told of that end"
    " by an event of type delivery_report; a service has no inbox to be told in.",
)
@click.option("--idempotency-key", help="The same key and body publish once, however often.")
def publish(
    connection: Connection,
    /,
    *,
    payload: dict[str, Any],
    recipients: tuple[str, ...],
    type_: str | None,
    available_at: datetime | None,
    idempotency_key: str | None,
    **members: Any,
) -> None:
    """Publish PAYLOAD (a JSON object, @file, or - for stdin) to agents."""
    publication = Publication(
        payload=payload,
        recipients=recipients,
        type=type_,
        available_at=available_at,
        **members,
    )
    with connection.client() as client:
        published = client.publish(publication, idempotency_key=idempotency_key)
    if connection.as_json:
        write_json(published.raw)
        return
    table(
        ["seq", "event", "recipient", "status", "recipient is"],
        (
            (
                event.sequence_number,
                event.event_id,
                event.recipient_id,
                event.status + (" (published before)" if event.existing else ""),
                event.reachability and PRESENCE.get(event.reachability.mode),
            )
            for event in published.events
        ),
    )

"""`ack`, `release`, `reject`, `renew`: settle by hand what `claim` took."""

from __future__ import annotations

from typing import Any

import click

from restante_agent.cli.connection import Connection, connected
from restante_agent.cli.screen import say, write_json
from restante_agent.cli.values import json_object
from restante_agent.model.settle import Failure, FailureOutcome

generation_option = click.option(
    "--generation", type=int, required=True, help="The claim_generation that `claim` printed."
)


@click.command()
@connected
@click.argument("event_id")
@generation_option
@click.option("--result", type=json_object, metavar="JSON", help="A JSON object of at most 8 KiB.")
def ack(
    connection: Connection, /, *, event_id: str, generation: int, result: dict[str, Any] | None
) -> None:
    """The event is done."""
    with connection.client() as client:
        acked = client.ack(event_id, generation, result=result)
    _tell(connection, acked.raw, f"{event_id} {acked.status}")


@click.command()
@connected
@click.argument("event_id")
@generation_option
@click.option("--delay", "delay_seconds", type=float, help="Seconds until it is claimable again.")
@click.option("--error-code", help="Makes it a failed attempt; without one it does not count.")
@click.option("--error-message", default="")
@click.option(
    "--outcome",
    type=click.Choice([o.value for o in FailureOutcome]),
    default=FailureOutcome.FAILED.value,
    show_default=True,
    help="What the failed attempt left behind.",
)
def release(
    connection: Connection,
    /,
    *,
    event_id: str,
    generation: int,
    delay_seconds: float | None,
    error_code: str | None,
    error_message: str,
    outcome: str,
) -> None:
    """Give the event back."""
    error = Failure(error_code, error_message, FailureOutcome(outcome)) if error_code else None
    with connection.client() as client:
        released = client.release(event_id, generation, delay_seconds=delay_seconds, error=error)
    _tell(connection, released.raw, f"{event_id} {released.status}")


@click.command()
@connected
@click.argument("event_id")
@generation_option
@click.option("--reason", required=True)
def reject(connection: Connection, /, *, event_id: str, generation: int, reason: str) -> None:
    """The event can never succeed: into quarantine."""
    with connection.client() as client:
        rejected = client.reject(event_id, generation, reason=reason)
    _tell(connection, rejected.raw, f"{event_id} {rejected.status}")


@click.command()
@connected
@click.argument("event_id")
@generation_option
@click.option("--lease", "lease_seconds", type=int, help="Seconds from now.")
@click.option(
    "--progress", type=json_object, metavar="JSON", help="A JSON object of at most 4 KiB."
)
def renew(
    connection: Connection,
    /,
    *,
    event_id: str,
    generation: int,
    lease_seconds: int | None,
    progress: dict[str, Any] | None,
) -> None:
    """Keep the lease."""
    with connection.client() as client:
        renewed = client.renew(event_id, generation, lease_seconds=lease_seconds, progress=progress)
    asked = "; its cancellation was asked for" if renewed.cancel_requested else ""
    left = renewed.lease_remaining_ms // 1000
    _tell(connection, renewed.raw, f"{event_id} held for {left} s more{asked}")


def _tell(connection: Connection, answer: Any, sentence: str) -> None:
    if connection.as_json:
        write_json(answer)
    else:
        say(sentence)

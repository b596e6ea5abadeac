"""`restante-agent stats`: the inbox in numbers."""

from __future__ import annotations

import click

from restante_agent.cli.connection import Connection, connected
from restante_agent.cli.screen import table, write_json


@click.command()
@connected
def stats(connection: Connection) -> None:
    """Counts, head and epoch of the inbox."""
    with connection.client() as client:
        found = client.stats()
        agent_id = client.agent_id
    if connection.as_json:
        write_json(found.raw)
        return
    age, seen = found.oldest_pending_age_seconds, found.last_seen_at
    rows: list[tuple[str, object]] = [
        ("inbox of", agent_id),
        ("pending", f"{found.pending} ({found.claimable} claimable now)"),
        ("claimed", found.claimed),
        ("scheduled", found.scheduled),
        ("quarantined", found.quarantined),
        ("oldest pending", "none" if age is None else f"{age:.0f} s"),
        ("head", f"{found.head} (read from {found.oldest_cursor}, epoch {found.epoch})"),
        ("streams open", found.streams),
        ("last seen", f"{seen:%Y-%m-%d %H:%M:%S} UTC" if seen else "never"),
    ]
    table(["", ""], rows)

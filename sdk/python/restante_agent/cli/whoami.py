"""`restante-agent whoami`: as whom the other commands would act, without asking the server."""

from __future__ import annotations

import click

from restante_agent.cli.connection import Connection, connected
from restante_agent.cli.screen import table, write_json


@click.command()
@connected
def whoami(connection: Connection, /) -> None:
    """Which agent the commands act as, and by what: a secret that is set, else a kept login."""
    found: dict[str, str | None]
    if connection.has_secret:
        found = {"url": connection.url, "client_id": connection.client_id, "by": "secret"}
    else:
        login = connection.login()
        kept, place = login.read(), login.place()
        found = {
            "url": login.base_url,
            "client_id": login.agent_id,
            "by": "login",
            "scope": kept.scope if kept else "",
            "kept_in": str(login.path),
            "key_in": place.value if place else "",
        }
    if connection.as_json:
        write_json(found)
    else:
        table(["", ""], found.items())

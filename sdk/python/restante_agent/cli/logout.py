"""`restante-agent logout`: give the login back, and forget it."""

from __future__ import annotations

import contextlib
import time
from random import Random

import click

from restante_agent.cli.connection import Connection, connected
from restante_agent.cli.screen import say, write_json
from restante_agent.login.device import log_out
from restante_agent.sender import Sender


@click.command()
@connected
@click.option(
    "--local", is_flag=True, help="Forget it here only; the server is not asked to end it."
)
def logout(connection: Connection, /, *, local: bool) -> None:
    """End the login of this machine: its tokens are worth nothing any more.

    Where the server cannot be reached the login stays; --local forgets it without asking.
    """
    login = connection.login()
    random = Random()  # noqa: S311 - spreads waits, guards nothing
    with contextlib.closing(Sender(None, time.monotonic)) as sender:
        ended = sender.play(log_out(login, random=random, local=local), sleep=time.sleep)
    if connection.as_json:
        write_json(
            {"url": login.base_url, "agent_id": login.agent_id, "revoked": ended and not local}
        )
    else:
        how = "forgotten here; it ends by itself" if local else "logged out"
        say(f"{login.agent_id} at {login.base_url}: {how}")

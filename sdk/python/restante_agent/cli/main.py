"""The `restante-agent` command."""

from __future__ import annotations

import os

import click

from restante_agent.cli.claim import claim
from restante_agent.cli.exits import EPILOG
from restante_agent.cli.listen import listen
from restante_agent.cli.login import login
from restante_agent.cli.logout import logout
from restante_agent.cli.mcp import mcp
from restante_agent.cli.memory import memory
from restante_agent.cli.publish import publish
from restante_agent.cli.settle import ack, reject, release, renew
from restante_agent.cli.stats import stats
from restante_agent.cli.tail import tail
from restante_agent.cli.webhook_serve import webhook_serve
from restante_agent.cli.whoami import whoami
from restante_agent.version import __version__


@click.group(epilog=EPILOG)
@click.version_option(__version__, prog_name="restante-agent")
@click.pass_context
def main(context: click.Context) -> None:
    """The agent's side of Restante.

    Log in with `restante-agent login --url URL`, or set RESTANTE_URL, RESTANTE_CLIENT_ID and
    RESTANTE_CLIENT_SECRET, which go before a login. Then for instance `restante-agent listen
    --exec ./handle`.
    """
    context.obj = {"secret": os.environ.get("RESTANTE_CLIENT_SECRET")}


COMMANDS = (
    login,
    logout,
    whoami,
    listen,
    publish,
    claim,
    ack,
    release,
    reject,
    renew,
    tail,
    stats,
    memory,
    mcp,
    webhook_serve,
)
for command in COMMANDS:
    main.add_command(command)

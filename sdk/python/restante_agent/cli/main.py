"""The `restante-agent` command."""

from __future__ import annotations

import os

import click

from restante_agent.cli.claim import claim
from restante_agent.cli.exits import EPILOG
from restante_agent.cli.listen import listen
from restante_agent.cli.publish import publish
from restante_agent.cli.settle import ack, reject, release, renew
from restante_agent.cli.stats import stats
from restante_agent.cli.tail import tail
from restante_agent.version import __version__


@click.group(epilog=EPILOG)
@click.version_option(__version__, prog_name="restante-agent")
@click.pass_context
def main(context: click.Context) -> None:
    """The agent's side of Restante.

    Set RESTANTE_URL, RESTANTE_CLIENT_ID and RESTANTE_CLIENT_SECRET, then for instance
    `restante-agent listen --exec ./handle`.
    """
    context.obj = {"secret": os.environ.get("RESTANTE_CLIENT_SECRET")}


for command in (listen, publish, claim, ack, release, reject, renew, tail, stats):
    main.add_command(command)

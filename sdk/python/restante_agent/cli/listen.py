"""`restante-agent listen`: run a command for each event."""

from __future__ import annotations

import dataclasses
import logging
import os
import shutil
import sys

import click

from restante_agent.agent import Agent
from restante_agent.cli.child import CommandHandler
from restante_agent.cli.command_line import argv_of, inherited
from restante_agent.cli.connection import Connection, connected, of_projects
from restante_agent.cli.screen import say, write_json
from restante_agent.runtime.plan import GIVE_UP_SECONDS


@click.command()
@connected
@click.option("--exec", "command", required=True, help="The command; a shell only if it needs one.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Commands at once; never two of one ordering key.",
)
@click.option(
    "--lease",
    "lease_seconds",
    type=click.IntRange(1, 43_200),
    default=60,
    show_default=True,
    help="Seconds; renewed while the command runs.",
)
@of_projects
@click.option("--consumer", help="A name for this holder; by default one per host and process.")
@click.option(
    "--delay",
    "delay_seconds",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    help="Seconds until an event is tried again after exit 75.",
)
@click.option(
    "--timeout", "timeout_seconds", type=click.FloatRange(0.1), help="Seconds a run may take."
)
@click.option(
    "--drain",
    "drain_seconds",
    type=click.FloatRange(0),
    default=20.0,
    show_default=True,
    help="Seconds that running commands may take after SIGTERM or Ctrl-C.",
)
@click.option(
    "--until-empty",
    is_flag=True,
    help="End when nothing can be claimed at the moment; what waits out a pause is left.",
)
@click.option(
    "--give-up",
    "give_up_seconds",
    type=click.FloatRange(0),
    default=GIVE_UP_SECONDS,
    show_default=True,
    help="With --until-empty: seconds without an answer after which it ends, with exit 6.",
)
@click.option("--no-stream", is_flag=True, help="Poll only.")
@click.option(
    "--pass-credentials",
    is_flag=True,
    help="Let the command inherit RESTANTE_CLIENT_SECRET and RESTANTE_AGENT_KEY.",
)
@click.option(
    "--fenced",
    is_flag=True,
    help="Give the command the event as fenced, untrusted text for a model, and not as JSON.",
)
@click.option("-q", "--quiet", is_flag=True, help="Warnings only.")
def listen(
    connection: Connection,
    /,
    *,
    command: str,
    delay_seconds: float,
    timeout_seconds: float | None,
    projects: tuple[str, ...],
    until_empty: bool,
    give_up_seconds: float,
    no_stream: bool,
    pass_credentials: bool,
    fenced: bool,
    quiet: bool,
    **options: object,
) -> None:
    """Run a command for each event.

    The command gets the event as JSON on its stdin. Exit 0 acks, with stdout as the result if it is
    a JSON object; 75 gives the event back for --delay seconds; anything else is a failed attempt,
    told with the end of stderr. The environment has RESTANTE_EVENT_ID, RESTANTE_CLAIM_GENERATION,
    RESTANTE_FENCE and more. SIGTERM or Ctrl-C lets the running commands finish for --drain seconds;
    a second one does not wait.
    """
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING if quiet else logging.INFO,
        format="%(asctime)s %(message)s",
    )
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    argv = argv_of(command)
    if shutil.which(argv[0]) is None:
        raise click.BadParameter(
            f"there is no program {argv[0]!r} to run: nothing was claimed", param_hint="--exec"
        )
    handler = CommandHandler(
        argv,
        environ=inherited(os.environ, with_secret=pass_credentials),
        delay_seconds=delay_seconds,
        timeout_seconds=timeout_seconds,
        echo=sys.stderr.buffer,
        fenced=fenced,
    )
    with connection.client() as client:
        agent = Agent(
            client,
            handler,
            projects=projects or None,
            state_dir=connection.state_dir,
            stream=not no_stream,
            **options,  # type: ignore[arg-type]  # click has checked them
        )
        summary = agent.run(until_empty=until_empty, give_up_seconds=give_up_seconds)
    counts = dataclasses.asdict(summary)
    if connection.as_json:
        write_json(counts)
    else:
        say(
            "  ".join(f"{name} {count}" for name, count in counts.items() if count)
            or "nothing done"
        )

"""`restante-agent login`: an agent without a secret, let in by an operator (RFC 8628)."""

from __future__ import annotations

import contextlib
import socket
import sys
import time
from random import Random

import click

from restante_agent.base_url import checked_url
from restante_agent.cli.connection import Connection, connected
from restante_agent.cli.screen import printable, write_json
from restante_agent.errors import ConfigurationError
from restante_agent.login.device import log_in
from restante_agent.login.finding import ANY_AGENT
from restante_agent.login.kept import KeptLogin
from restante_agent.login.sealing import Place
from restante_agent.sender import Sender
from restante_agent.wire.device_login import Codes

INTERRUPTED = 130


@click.command()
@connected
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="agent:<project>:<verb>; repeatable. Else read and claim where they are granted.",
)
def login(connection: Connection, /, *, scopes: tuple[str, ...]) -> None:
    """Log this machine in as an agent, without a secret.

    Prints a code, and the address where an operator approves it; with --json on stderr. Without
    --agent the operator picks the agent. The login is kept for all commands and processes of this
    user, and is used wherever no secret is set.
    """
    client_id = connection.client_id or ANY_AGENT
    if client_id != ANY_AGENT and not client_id.startswith("agt_"):
        raise ConfigurationError(f"{client_id!r} is no agent: give --agent agt_…, or leave it out")
    if not connection.url:
        raise ConfigurationError("set RESTANTE_URL or give --url, like http://127.0.0.1:8000")

    def tell(text: str) -> None:
        print(printable(text), file=sys.stderr if connection.as_json else sys.stdout, flush=True)

    def announce(codes: Codes) -> None:
        tell(f"An operator opens  {codes.verification_uri}")
        tell(f"and gives the code {codes.user_code}")
        if codes.verification_uri_complete:
            tell(f"or opens           {codes.verification_uri_complete}")
        tell(f"Waiting up to {codes.expires_in_seconds / 60:.0f} min for him; Ctrl-C gives up.")

    exchange = log_in(
        checked_url(connection.url),
        client_id,
        scopes=_scopes(scopes),
        host=socket.gethostname(),
        announce=announce,
        login_of=lambda agent_id: KeptLogin(
            checked_url(connection.url or ""), agent_id, base=connection.state_dir
        ),
        wall=time.time,
        random=Random(),  # noqa: S311 - spreads waits, guards nothing
    )
    try:
        with contextlib.closing(Sender(None, time.monotonic)) as sender:
            made = sender.play(exchange, sleep=time.sleep)
    except KeyboardInterrupt:
        print("\nrestante-agent: given up; nothing was kept", file=sys.stderr)
        sys.exit(INTERRUPTED)
    if connection.as_json:
        write_json(
            {
                "url": made.login.base_url,
                "agent_id": made.login.agent_id,
                "scope": made.kept.scope,
                "kept_in": str(made.login.path),
                "key_in": made.key_in,
            }
        )
        return
    tell(f"Logged in as {made.login.agent_id} for {made.kept.scope or 'nothing'}.")
    tell(f"Kept in {made.login.path}, sealed by a key in {made.key_in}.")
    if made.login.place() is Place.FILE:
        tell("Whoever can read both files can use the login.")
    if connection.has_secret:
        tell("A client secret is set here, which goes before it.")


def _scopes(texts: tuple[str, ...]) -> list[str]:
    """Also several in one, as OAuth writes them."""
    return list(dict.fromkeys(scope for text in texts for scope in text.split()))

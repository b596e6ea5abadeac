"""The acceptances in full, outside of the suite: `python -m tests.acceptance.full fire mariadb`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from restante.storage.engine import make_engine
from restante.storage.transaction import Database
from tests.acceptance import fire_ledger, real_input_ledger, webhook_fire, webhook_ledger
from tests.acceptance.arena import arena
from tests.acceptance.fire import FULL, burn
from tests.acceptance.github_bodies import BodiesUnavailable, bodies
from tests.acceptance.real_input import deliver
from tests.acceptance.seeds import new_seed, say
from tests.support.servers import start
from tests.support.serving import RestanteCommand
from tests.support.unavailable import Unavailable


def fire(backend: str, *, seed: int, folder: Path) -> None:
    """Set equality under fire: 10,000 events, 8 publishers, 8 consumers."""
    with arena(backend, folder, seed=seed) as one:
        say(fire_ledger.audit(burn(one, FULL, seed=seed, say=say)))


def demo(backend: str, *, seed: int, folder: Path) -> None:
    """Real input: every webhook body of GitHub's examples, for agents that are away."""
    texts = bodies()
    with arena(backend, folder, seed=seed) as one:
        say(real_input_ledger.audit(deliver(one, texts, seed=seed, say=say)))


def webhooks(backend: str, *, seed: int, folder: Path) -> None:
    """Deliveries under fire: 5,000 events, relays, receivers and the database killed."""
    server = start(backend, folder / backend)
    try:
        url = server.create_database("restante")
        RestanteCommand(url).upgrade()
        database = Database(make_engine(url))

        def kill_database() -> str:
            server.kill()
            server.launch()
            return backend

        one = webhook_fire.WebhookFire(database, url, folder, webhook_fire.FULL, seed)
        others = {"database": kill_database}
        webhook_fire.burn(one, say=say, limit_seconds=webhook_fire.LIMIT_SECONDS, others=others)
        say(webhook_ledger.audit(one))
    finally:
        server.kill()


ACCEPTANCES: dict[str, Callable[..., None]] = {"fire": fire, "demo": demo, "webhooks": webhooks}


def run(name: str, backend: str) -> None:
    """One of them, in a folder that goes afterwards. Raises Unavailable."""
    say(f"{name} on {backend}")
    with tempfile.TemporaryDirectory(prefix=f"restante-{name}-") as folder:
        ACCEPTANCES[name](backend, seed=new_seed(), folder=Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.acceptance.full", description=__doc__)
    parser.add_argument("name", choices=sorted(ACCEPTANCES))
    parser.add_argument("backend", nargs="?", choices=["mariadb", "mysql", "sqlite"])
    args = parser.parse_args()
    try:
        try:
            run(args.name, args.backend or "mariadb")
        except Unavailable as error:
            if args.backend or args.name != "demo" or isinstance(error, BodiesUnavailable):
                raise
            say(f"no MariaDB can be had here ({error}), so it is SQLite")
            run(args.name, "sqlite")
    except Unavailable as error:
        sys.exit(f"{args.name} cannot be run here: {error}")


if __name__ == "__main__":
    main()

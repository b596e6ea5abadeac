"""What every `restante` command stands on: its database, how it speaks, and how it is refused."""

from __future__ import annotations

import functools
import getpass
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from config import Settings, SettingsRefused, load_settings
from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.errors import RestanteError, ValidationFailed
from restante.identity.sealing import derive
from restante.storage import incarnation, schema
from restante.storage.address import check_database_url
from restante.storage.engine import make_engine
from restante.storage.instance import make_database_file
from restante.storage.page_token import PAGE_TOKEN_KEYS
from restante.storage.probe import examine
from restante.storage.transaction import Database

PATIENCE_SECONDS = 3600
BUSY_SECONDS = 10
MIGRATIONS = Path(__file__).resolve().parent / "migrations"

Command = TypeVar("Command", bound=Callable[..., Any])
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
of_tenant = click.option("--tenant", required=True, metavar="T", help="The tenant's id or name.")


def refusing(command: Command) -> Command:
    """Have what is refused end the command with a sentence and exit code 1."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except SettingsRefused as error:
            raise click.ClickException("\n       ".join(error.faults)) from None
        except ValidationFailed as error:
            faults = error.members.get("errors", [])
            raise click.ClickException(
                "; ".join(f"{f['pointer'].lstrip('/')}: {f['detail']}" for f in faults)
                or error.detail
            ) from None
        except RestanteError as error:
            raise click.ClickException(error.detail) from None
        except DBAPIError as error:
            raise click.ClickException(f"The database refused: {error.orig}") from None

    return run  # type: ignore[return-value]  # it has the command's own signature


@contextmanager
def database() -> Iterator[Database]:
    """The database of the settings, checked; its connections are closed at the end."""
    settings = load_settings()
    engine = open_engine(settings)
    try:
        schema.check(engine, MIGRATIONS)
        keys = [derive(key, "page tokens") for key in settings.secret_keys]
        house = Database(engine, info={PAGE_TOKEN_KEYS: keys})
        house.run(incarnation.current)  # which a half-made copy has not
        yield house
    finally:
        engine.dispose()


def open_engine(settings: Settings) -> Engine:
    """An engine on the database of the settings; for SQLite its folder is made."""
    if settings.embedded:
        make_database_file(settings.database_file)
    return _open(settings.database_url)


def open_engine_on(url: str, option: str) -> Engine:
    """An engine on the database that an option names, whatever the settings say."""
    try:
        return _open(check_database_url(url))
    except ValueError as error:
        raise click.ClickException(f"{option} {error}.") from None


def _open(url: str) -> Engine:
    # a command may wait where a server may not: behind a busy `serve`, and for a long migration
    engine = make_engine(url, read_timeout_seconds=PATIENCE_SECONDS, busy_seconds=BUSY_SECONDS)
    examine(engine).require()
    return engine


def by_command() -> Origin:
    """Who runs this command, for the audit: the name he has on this machine, if he has one."""
    try:
        return Origin(Actor(ActorKind.COMMAND, getpass.getuser()))
    except (ImportError, KeyError, OSError):  # a container's number without a name; Windows
        return Origin(Actor(ActorKind.COMMAND))


def worded(answer: dict[str, Any], text: str, *, as_json: bool) -> str:
    """The answer, for a program or for a person."""
    return json.dumps(answer) if as_json else text


def say(answer: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print the answer."""
    click.echo(worded(answer, text, as_json=as_json))

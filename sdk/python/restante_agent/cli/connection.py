"""Options that every command takes, and the client made from them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from restante_agent.async_client import AsyncClient
from restante_agent.cli.exits import leave
from restante_agent.client import Client
from restante_agent.errors import (
    ConfigurationError,
    InsufficientScope,
    InvalidClient,
    RestanteError,
)
from restante_agent.login.finding import find_login
from restante_agent.login.kept import KeptLogin

P = ParamSpec("P")
R = TypeVar("R")

of_projects = click.option(
    "--project",
    "projects",
    multiple=True,
    envvar="RESTANTE_PROJECT",
    show_envvar=True,
    help="Only events of this project; repeatable. Else of all that are granted.",
)
"""For commands that take events."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where and who; the secret is read when it is needed and shown nowhere."""

    url: str | None
    client_id: str | None
    secret: str | None
    secret_file: Path | None
    state_dir: Path | None
    as_json: bool

    def client(self, **options: Any) -> Client:
        return Client(**self._made_with(), **options)

    def async_client(self, **options: Any) -> AsyncClient:
        return AsyncClient(**self._made_with(), **options)

    def _made_with(self) -> dict[str, Any]:
        """What a client of either kind is made with."""
        if not self.has_secret:
            login = self.login()
            return {"base_url": login.base_url, "login": login, "state_dir": self.state_dir}
        if not self.url:
            raise ConfigurationError("set RESTANTE_URL or give --url, like http://127.0.0.1:8000")
        if not self.client_id:
            raise ConfigurationError("set RESTANTE_CLIENT_ID or give --client-id, like agt_…")
        return {
            "base_url": self.url,
            "client_id": self.client_id,
            "client_secret": self._secret(),
            "state_dir": self.state_dir,
        }

    @property
    def has_secret(self) -> bool:
        """Whether it goes by a client's secret; else it goes by a kept login."""
        return self.secret_file is not None or bool(self.secret)

    def login(self) -> KeptLogin:
        """The kept login that is meant; ConfigurationError where it is none, or not clear."""
        return find_login(self.url, self.client_id, base=self.state_dir)

    def remedy(self, error: RestanteError) -> str:
        """What a person can do about it whose secret is wrong, or whose login holds too little.

        A login has the scopes it was made with.
        """
        if self.has_secret and isinstance(error, InvalidClient):
            return (
                "look at RESTANTE_CLIENT_ID (--client-id) and RESTANTE_CLIENT_SECRET (--client-secret-file), "
                "and that RESTANTE_URL (--url) is the server that they are of"
            )
        if self.has_secret or not isinstance(error, InsufficientScope) or not error.required_scope:
            return ""
        return (
            f"if it is granted, log in again with all it shall have: --scope {error.required_scope}"
        )

    def _secret(self) -> str:
        if self.secret_file is not None:
            try:
                return self.secret_file.read_text().strip()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigurationError(f"--client-secret-file: {error}") from error
        return self.secret or ""


def connected(command: Callable[Concatenate[Connection, P], R]) -> Callable[..., R]:
    """Adds the options, hands the command its `Connection`, turns errors into exit codes."""
    as_json = click.option(
        "--json", "as_json", is_flag=True, help="Exactly one JSON value on stdout."
    )
    return connected_without_json(as_json(command))


def connected_without_json(
    command: Callable[Concatenate[Connection, P], R],
) -> Callable[..., R]:
    """The same for a command whose stdout is not for people anyway."""

    @click.option("--url", envvar="RESTANTE_URL", show_envvar=True, help="The server's base URL.")
    @click.option(
        "--client-id",
        "--agent",
        "client_id",
        envvar="RESTANTE_CLIENT_ID",
        show_envvar=True,
        help="agt_… or svc_…",
    )
    @click.option(
        "--client-secret-file",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File with the secret; else RESTANTE_CLIENT_SECRET; else what `login` has kept.",
    )
    @click.option(
        "--state-dir",
        envvar="RESTANTE_STATE_DIR",
        show_envvar=True,
        type=click.Path(path_type=Path, file_okay=False),
        help="Where logins and records of finished events are kept; else the user's state folder.",
    )
    @functools.wraps(command)
    @click.pass_context
    def wrapped(context: click.Context, /, *args: Any, **kwargs: Any) -> R:
        secret = context.find_object(dict) or {}
        connection = Connection(
            url=kwargs.pop("url"),
            client_id=kwargs.pop("client_id"),
            secret=secret.get("secret"),
            secret_file=kwargs.pop("client_secret_file"),
            state_dir=kwargs.pop("state_dir"),
            as_json=kwargs.pop("as_json", False),
        )
        try:
            return command(connection, *args, **kwargs)
        except RestanteError as error:
            leave(error, as_json=connection.as_json, remedy=connection.remedy(error))

    return wrapped

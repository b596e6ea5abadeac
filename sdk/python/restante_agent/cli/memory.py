"""`restante-agent memory`: what the agent remembers, read and written by hand."""

from __future__ import annotations

from typing import Any

import click

from restante_agent.cli.connection import Connection, connected
from restante_agent.cli.screen import brief, say, table, write_json
from restante_agent.cli.values import json_value
from restante_agent.client import Client
from restante_agent.model.memory import MemoryEntry

PAGE = 1_000

of_project = click.option(
    "--project",
    envvar="RESTANTE_PROJECT",
    show_envvar=True,
    required=True,
    help="The project the key belongs to.",
)
at_version = click.option(
    "--if-version", type=int, help="Only if the key is at this version; 0: only if it is not there."
)


@click.group()
def memory() -> None:
    """Keys and values that the agent keeps, by project."""


@memory.command("get")
@connected
@click.argument("key")
@of_project
def get(connection: Connection, /, *, key: str, project: str) -> None:
    """Print the value of KEY as JSON (with --json the whole entry)."""
    with connection.client() as client:
        entry = client.memory_get(project, key)
    write_json(entry.raw if connection.as_json else entry.value)


@memory.command("put")
@connected
@click.argument("key")
@click.argument("value", type=json_value, default="-", metavar="[VALUE]")
@of_project
@at_version
def put(
    connection: Connection, /, *, key: str, value: Any, project: str, if_version: int | None
) -> None:
    """Set KEY to VALUE (any JSON, @file, or - for stdin)."""
    with connection.client() as client:
        entry = client.memory_put(project, key, value, if_version=if_version)
    _told(connection, entry)


@memory.command("rm")
@connected
@click.argument("key")
@of_project
@at_version
def remove(connection: Connection, /, *, key: str, project: str, if_version: int | None) -> None:
    """Take KEY away."""
    with connection.client() as client:
        entry = client.memory_delete(project, key, if_version=if_version)
    _told(connection, entry)


@memory.command("ls")
@connected
@click.option("--project", "projects", multiple=True, help="Repeatable; all that may be read.")
def listing(connection: Connection, /, *, projects: tuple[str, ...]) -> None:
    """List the keys, the one written last at the end."""
    with connection.client() as client:
        entries = _all(client, projects)
    if connection.as_json:
        write_json([entry.raw for entry in entries])
        return
    table(
        ["project", "key", "version", "written", "value"],
        (
            (
                entry.project,
                entry.key,
                entry.version,
                entry.updated_at and f"{entry.updated_at:%Y-%m-%d %H:%M:%S} UTC",
                brief(entry.value),
            )
            for entry in entries
        ),
    )


def _all(client: Client, projects: tuple[str, ...]) -> list[MemoryEntry]:
    found: dict[tuple[str, str], MemoryEntry] = {}
    after: int | None = None
    while True:
        page = client.memory_list(after, limit=PAGE, projects=projects or None)
        for entry in page.entries:
            # written while the pages were read, it comes again
            found.pop((entry.project, entry.key), None)
            if not entry.deleted:
                found[entry.project, entry.key] = entry
        if not page.has_more:
            return list(found.values())
        after = page.memory_revision


def _told(connection: Connection, entry: MemoryEntry) -> None:
    if connection.as_json:
        write_json(entry.raw)
    else:
        say(f"{entry.key} {'is gone since' if entry.deleted else 'is at'} version {entry.version}")

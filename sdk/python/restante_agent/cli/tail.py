"""`restante-agent tail`: look at the inbox without changing it."""

from __future__ import annotations

import time

import click

from restante_agent.cli.connection import Connection, connected, of_projects
from restante_agent.cli.screen import brief, events, printable, say, write_json
from restante_agent.client import Client
from restante_agent.errors import ConfigurationError, CursorGone
from restante_agent.model.event import Event
from restante_agent.model.inbox import Page

FOLLOW_WAIT_SECONDS = 30


@click.command()
@connected
@click.option("--after", "after_cursor", type=int, help="Read after this cursor, not the newest.")
@click.option("-n", "--limit", type=int, default=10, show_default=True)
@click.option("--open", "only_open", is_flag=True, help="Without those that are final.")
@of_projects
@click.option("-f", "--follow", is_flag=True, help="Go on as events come, until interrupted.")
@click.option("--json-lines", is_flag=True, help="One JSON event a line; fits --follow.")
def tail(
    connection: Connection,
    /,
    *,
    after_cursor: int | None,
    limit: int,
    only_open: bool,
    projects: tuple[str, ...],
    follow: bool,
    json_lines: bool,
) -> None:
    """Show the newest events, or those after a cursor. Claims nothing, changes nothing."""
    if follow and connection.as_json:
        raise ConfigurationError("--json is one value; with --follow use --json-lines")
    with connection.client() as client:
        if after_cursor is None:
            known = client.stats()
            after_cursor = max(known.oldest_cursor, known.head - limit)
        reader = Reader(client, after_cursor, projects=projects, only_open=only_open)
        page = reader.next(limit=limit)
        if connection.as_json:
            write_json(page.raw)
            return
        _show(page, lines=json_lines)
        while follow:
            page = reader.next(limit=100, wait_seconds=FOLLOW_WAIT_SECONDS)
            _show(page, lines=json_lines, headless=True)
            if not page.events and not page.has_more:
                # Something claimable ends the server's wait at once; its pace is kept to.
                pause = (page.next_poll_ms or 1000) / 1000
                time.sleep(pause if page.claimable else min(1.0, pause))


class Reader:
    """Pages one after the other. A gone cursor is said on stderr and left behind."""

    def __init__(
        self, client: Client, cursor: int, *, projects: tuple[str, ...], only_open: bool
    ) -> None:
        self._client, self._cursor = client, cursor
        self._epoch: str | None = None
        self._projects, self._status = projects or None, "open" if only_open else None

    def next(self, *, limit: int, wait_seconds: int | None = None) -> Page:
        try:
            page = self._client.read(
                self._cursor,
                limit=limit,
                projects=self._projects,
                status=self._status,
                wait_seconds=wait_seconds,
                epoch=self._epoch,
            )
        except CursorGone as gone:
            if wait_seconds is None:
                raise
            lost = (gone.lost or {}).get("count", "unknown")
            click.echo(f"cursor {self._cursor} is gone ({gone.reason}, lost: {lost})", err=True)
            self._cursor, self._epoch = gone.head, gone.epoch
            return self.next(limit=limit)
        self._cursor, self._epoch = page.next_cursor, page.epoch
        return page


def _show(page: Page, *, lines: bool, headless: bool = False) -> None:
    if lines:
        for event in page.events:
            write_json(event.raw)
    elif headless:
        for event in page.events:
            print(_line(event), flush=True)
    elif page.events:
        events(event.raw for event in page.events)
    else:
        say("No events.")


def _line(event: Event) -> str:
    parts = (event.sequence_number, event.event_id, event.type, event.project, event.status)
    return printable(" ".join(str(p) for p in parts)) + "  " + printable(brief(event.payload))

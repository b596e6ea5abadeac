"""`restante db`: the database itself."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click
from sqlalchemy.orm import Session

from command_line import (
    MIGRATIONS,
    as_json,
    by_command,
    database,
    open_engine,
    refusing,
    say,
)
from config import Settings, load_settings
from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.audit.verification import Progress, verify_on
from restante.coordination.restored import restore_memory, restore_rooms
from restante.identity.restored import end_logins
from restante.inbox.restored import forget_streams, restore_inboxes
from restante.signals.registry import count_live_nodes
from restante.storage import copying, incarnation, schema
from restante.storage.address import check_database_url, parse_address
from restante.storage.copying import CopyRefused
from restante.storage.instance import lock_for_serving
from restante.storage.transaction import Database


@click.group()
def db() -> None:
    """The database."""


@db.command("upgrade")
@as_json
@refusing
def db_upgrade(*, as_json: bool) -> None:
    """Bring the database's tables to this release."""
    settings = load_settings()
    tell_default(settings)
    engine = open_engine(settings)
    try:
        revision = schema.upgrade(engine, MIGRATIONS)
        Database(engine).run(incarnation.current)
    finally:
        engine.dispose()
    answer = {"revision": revision, "database": settings.database_shown}
    text = f"The schema is at revision {revision}, in {settings.database_shown}."
    say(answer, text, as_json=as_json)


@db.command("restored")
@as_json
@refusing
def db_restored(*, as_json: bool) -> None:
    """Begin new epochs after a backup was restored. Stop every `serve` before."""
    settings = load_settings()
    tell_default(settings)
    with database() as house:
        if settings.embedded:
            lock_for_serving(settings.database_file)  # until this command ends
        last: bytes | None = b""
        inboxes = 0
        while last is not None:
            last, number = house.run(functools.partial(restore_inboxes, after=last))
            inboxes += number
        last = b""
        while last is not None:
            last = house.run(functools.partial(restore_memory, after=last))
        house.run(restore_rooms)
        ended = house.run(end_logins)
        house.run(forget_streams)
        begun = house.run(incarnation.begin)
        house.run(lambda s: record(s, Entry(None, by_command(), Action.DATABASE_RESTORED)))
    say(
        {
            "incarnation_id": begun.id,
            "inboxes": inboxes,
            "logins": ended.logins,
            "sessions": ended.sessions,
            "database": settings.database_shown,
        },
        f"In {settings.database_shown} {inboxes} inboxes have begun a new epoch; their agents will be "
        "told to fetch their state. "
        f"{ended.logins} logins of devices and {ended.sessions} sessions have ended: log in again, and make "
        "new links for operators who sign in by them. "
        "Whatever was revoked or disabled after the backup was made is not so any more: do it again.",
        as_json=as_json,
    )


@db.command("copy")
@click.option("--to", "url", required=True, metavar="URL", help="An empty database, upgraded.")
@as_json
@refusing
def db_copy(url: str, *, as_json: bool) -> None:
    """Move to another database, with ids, sequences, generations and epochs. Stop all else before.

    Run it again to go on with a copy that was broken off. The old database is left as it is.
    """
    settings = load_settings()
    try:
        to = settings.model_copy(update={"database_url": check_database_url(url)})
    except ValueError as error:
        raise click.ClickException(f"--to {error}.") from None
    if _place(settings) == _place(to):
        raise CopyRefused("The old and the new database are the same: name another.")
    with at_rest(settings, "old") as source, at_rest(to, "new") as target:
        found, old = source.run(lambda session: _copy(session, target))
        _require_rest(source, "old")
        if source.run(copying.pulse) != old[1]:
            raise CopyRefused(
                "The old database was written to while it was copied, so the copy is not whole. Stop every "
                "`serve`, `maintain` and command, empty the target, `restante db upgrade` it, begin anew."
            )
        chains = _verified(target)
        target.run(lambda session: copying.finish(session, old[0]))
        target.run(lambda s: record(s, Entry(None, by_command(), Action.DATABASE_COPIED)))
    answer = {
        "incarnation_id": old[0]["incarnation_id"],
        "rows": sum(content.rows for content in found.values()),
        "tables": {name: content.rows for name, content in found.items()},
        "left_out": {table.name: why for table, why in copying.LEFT_OUT.items()},
        "audit": {"chains": chains.chains, "entries": chains.entries},
    }
    text = (
        f"{answer['rows']} rows in {len(found)} tables are there as they are here, and the audit is whole. "
        "Set RESTANTE_DATABASE_URL to the new database, keep RESTANTE_SECRET_KEY (on SQLite: what secret.key "
        "of the instance folder holds), and do not serve the old one again."
    )
    say(answer, text, as_json=as_json)


def tell_default(settings: Settings) -> None:
    """Say it where the database is the default: it may be another that is meant."""
    if settings.on_default_database:
        made = "" if settings.database_file.exists() else ", which is made now"
        click.echo(
            f"RESTANTE_DATABASE_URL names no other, so the database is {settings.database_shown}{made}.",
            err=True,
        )


@contextmanager
def at_rest(settings: Settings, which: str) -> Iterator[Database]:
    """A database of this release's schema that nobody serves, held for as long as this lasts."""
    engine = open_engine(settings)
    try:
        found, newest = schema.revision(engine), schema.newest(MIGRATIONS)
        if found != newest:
            raise CopyRefused(
                f"The {which} database's schema is at revision {found or 'none'}, and this release copies "
                f"{newest}: run `restante db upgrade` of this release on it, both have to be alike."
            )
        if settings.embedded:
            lock_for_serving(settings.database_file)  # until this command ends
        else:
            # one view of all tables, however long it takes
            engine = engine.execution_options(isolation_level="REPEATABLE READ")
        house = Database(engine)
        _require_rest(house, which)
        yield house
    finally:
        engine.dispose()


def _place(settings: Settings) -> Any:
    if settings.embedded:
        return settings.database_file.resolve()
    return parse_address(settings.database_url).place


def _require_rest(house: Database, which: str) -> None:
    if nodes := house.run(count_live_nodes):
        raise CopyRefused(
            f"The {which} database is served by {nodes} processes: stop every `serve` and `maintain` first "
            "(one that was killed is taken for gone after half a minute)."
        )


def _copy(source: Session, target: Database) -> Any:
    """What was copied, and what the source was like: its history and its pulse."""
    old = copying.history(source), copying.pulse(source)
    return copying.copy(source, target, lambda line: click.echo(line, err=True)), old


def _verified(house: Database) -> Progress:
    """The audit's chains, looked through. Raises CopyRefused at a broken one."""
    progress = Progress()
    while not progress.finished:
        progress = house.run(functools.partial(verify_on, progress=progress))
    if (broken := progress.broken) is not None:
        raise CopyRefused(
            f"The audit is broken at entry {broken.number} of {broken.tenant_id or 'the platform'}: "
            f"{broken.fault}. It is so in the old database too; see `restante audit verify`."
        )
    return progress

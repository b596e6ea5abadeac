"""`restante doctor`: what an operator should know about settings, server, schema, clocks and proxy."""

from __future__ import annotations

import difflib
import os
import resource
import time
from collections.abc import Collection, Iterator, Mapping
from datetime import UTC
from functools import partial
from itertools import takewhile
from pathlib import Path

from sqlalchemy import Engine, func, select, text
from sqlalchemy.exc import DBAPIError

from config import PREFIX, Settings, SettingsRefused, load_settings
from restante.errors import NotFound
from restante.identity.oidc.metadata import ProviderFailed
from restante.identity.oidc.provider import Provider
from restante.identity.sealing import SealBroken
from restante.identity.server_keys import Purpose, ServerKeys
from restante.identity.tenants import find_tenant
from restante.inbox.timers import oldest_due
from restante.sampling.samples import ALL, Measure, latest_samples
from restante.storage import incarnation, schema
from restante.storage.clock import database_now
from restante.storage.engine import make_engine
from restante.storage.finding import Finding, Level
from restante.storage.probe import examine
from restante.storage.tables.inboxes import inbox
from restante.storage.transaction import Database, Session
from workers import conditions
from workers.egress import make_egress

CLOCK_SECONDS = 5.0
# an agent's own, and those of the tests
_OTHERS = ("RESTANTE_URL", "RESTANTE_CLIENT_", "RESTANTE_TEST_")


class Examination:
    """Everything found; `server` is the database's product and version, once it answered."""

    def __init__(self) -> None:
        self.server = self.database = "none"
        self.findings: list[Finding] = []

    @property
    def ok(self) -> bool:
        """Whether `serve` would start."""
        return all(finding.level is not Level.REFUSED for finding in self.findings)

    def run(self, migrations: Path, environ: Mapping[str, str]) -> None:
        """Look at all but the proxy; changes nothing."""
        self.findings += unknown_settings(environ)
        try:
            settings = load_settings()
        except SettingsRefused as error:
            self.findings += [_refused("settings", fault) for fault in error.faults]
            return
        self.database = settings.database_shown
        if settings.embedded and not settings.database_file.exists():
            sentence = f"{settings.database_file} is not there yet: run `restante db upgrade`."
            self.findings.append(_refused("database", sentence))
            return
        _, files = resource.getrlimit(resource.RLIMIT_NOFILE)  # serve takes as many as it may
        self.findings += conditions.of_settings(settings)
        self.findings += conditions.of_host(settings, environ, files=files)
        engine = make_engine(settings.database_url, busy_seconds=10)
        try:
            self._look(engine, settings, migrations)
        except DBAPIError as error:
            sentence = (
                f"The database, {self.database}, does not answer: {error.orig}. See that it runs, and that "
                "RESTANTE_DATABASE_URL has its right host, port, user and password."
            )
            self.findings.append(_refused("database", sentence))
        finally:
            engine.dispose()

    def _look(self, engine: Engine, settings: Settings, migrations: Path) -> None:
        server = examine(engine)
        self.server = server.name
        self.findings += server.findings
        if not self.ok:
            return
        try:
            schema.check(engine, migrations)
        except schema.SchemaTooOld as error:
            self.findings.append(_refused("schema", error.detail))
            return
        database = Database(engine)
        self.findings += clocks(database)
        self.findings += keys(settings, database)
        self.findings += burdens(settings, database)
        try:
            present = database.run(incarnation.current)
            incarnation.check_seen(settings.instance, settings.database_url, present)
        except (incarnation.DatabaseOlderThanSeen, incarnation.HalfCopied) as error:
            self.findings.append(_refused("incarnation", error.detail))
        self.findings += identity_provider(settings, database)


def unknown_settings(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Variables that look like settings and are none."""
    known = {name.upper() for name in Settings.model_fields}
    for name in sorted(environ):
        own = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and own not in known and not name.startswith(_OTHERS):
            near = _nearest(own, known)
            hint = f"; did you mean {PREFIX}{near}?" if near else "."
            yield Finding(Level.WARNING, name, f"{name} is no setting and has no effect{hint}")


def _nearest(name: str, known: Collection[str]) -> str | None:
    """The one that begins like it, for half of its length at least, else the one most alike, if any is."""

    def alike(other: str) -> int:
        return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False))))

    near = max(sorted(known), key=alike)
    if alike(near) >= len(name) / 2:
        return near
    return next(iter(difflib.get_close_matches(name, known, n=1)), None)


def clocks(database: Database) -> Iterator[Finding]:
    """The database's clock, which decides everything, against this machine's."""
    began = time.time()
    theirs = database.run(database_now).replace(tzinfo=UTC).timestamp()
    difference = theirs - (began + time.time()) / 2
    if abs(difference) > CLOCK_SECONDS:
        yield Finding(
            Level.WARNING,
            "clock",
            f"The database's clock differs from this machine's by {difference:+.0f} s. Restante goes by "
            "the database's; signed requests of agents with a right clock would be refused. Run NTP on both.",
        )


def keys(settings: Settings, database: Database) -> Iterator[Finding]:
    """Whether the server's keys open. None is made here: without any there is nothing to find."""
    try:
        signing = ServerKeys(settings.secret_keys, Purpose.TOKEN)
        database.run(lambda session: signing.check(session, database_now(session)))
    except SealBroken as error:
        yield _refused("secret_key", error.detail)


def burdens(settings: Settings, database: Database) -> Iterator[Finding]:
    """Whether timers run, and whether connections last."""
    due_at, now = database.run(lambda session: (oldest_due(session), database_now(session)))
    yield from conditions.of_maintenance(settings, due_at, now)
    if database.engine.dialect.name == "sqlite":
        yield from conditions.of_embedded(*database.run(_size))
        return
    most, grants = database.run(_server)
    yield from conditions.of_connections(settings, most)
    yield from conditions.of_rights(grants)


def _size(session: Session) -> tuple[int, float]:
    agents = session.connection().execute(select(func.count()).select_from(inbox)).scalar_one()
    return agents, latest_samples(session).get((ALL, Measure.PENDING), 0.0)


def _server(session: Session) -> tuple[int, list[str]]:
    connection = session.connection()
    most = connection.execute(text("SELECT @@max_connections")).scalar_one()
    grants = connection.execute(text("SHOW GRANTS")).scalars()
    return int(most), [str(grant) for grant in grants]


def identity_provider(settings: Settings, database: Database) -> Iterator[Finding]:
    """Whether it can be asked and is the one configured, and whether the tenants of groups are there.

    None refuses to serve: while the provider is down, links let in.
    """
    if (configured := settings.oidc) is None:
        return
    try:
        Provider(configured, make_egress(settings)).check()
    except ProviderFailed as error:
        yield Finding(
            Level.WARNING,
            "identity_provider",
            f"RESTANTE_OIDC_ISSUER does not do, so nobody can sign in through it: {error.note}.",
        )
    for name in configured.tenants:
        try:
            database.run(partial(find_tenant, text=name))
        except NotFound as error:
            sentence = (
                f"RESTANTE_OIDC_GROUPS gives a role in a tenant that is not there. {error.detail}"
            )
            yield Finding(Level.WARNING, "identity_provider", sentence)


def _refused(subject: str, sentence: str) -> Finding:
    return Finding(Level.REFUSED, subject, sentence)


def examine_all(migrations: Path) -> Examination:
    """The examination of this machine's settings and database."""
    examination = Examination()
    examination.run(migrations, os.environ)
    return examination

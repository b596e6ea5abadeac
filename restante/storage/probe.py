"""What the database server can do and how it is set, looked at once at start and by `doctor`."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from restante.errors import UnsupportedDatabase
from restante.storage.durability import durability
from restante.storage.finding import Finding, Level
from restante.storage.members import GRANT

OLDEST = {"MySQL": (8, 0), "MariaDB": (10, 6), "SQLite": (3, 35)}
_VERSION = re.compile(r"(?:5\.5\.5-)?(\d+)\.(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, slots=True)
class Server:
    """The server that an engine reaches, and what was found wrong with it."""

    product: str
    version: tuple[int, ...]
    findings: tuple[Finding, ...]

    @property
    def name(self) -> str:
        """`MariaDB 10.11.6`."""
        return f"{self.product} {'.'.join(map(str, self.version))}"

    def require(self) -> None:
        """Raise UnsupportedDatabase, with what would mend it, where a promise could not be kept."""
        refused = [f.sentence for f in self.findings if f.level is Level.REFUSED]
        if refused:
            raise UnsupportedDatabase(" ".join(refused))


def examine(engine: Engine) -> Server:
    """Look at the server; changes nothing."""
    with engine.connect() as connection:
        return examine_through(connection)


def examine_through(connection: Connection) -> Server:
    """The same, through a connection that is open."""
    if connection.dialect.name == "sqlite":
        version: tuple[int, ...] = sqlite3.sqlite_version_info
        findings = [*_too_old("SQLite", version), *_sqlite(connection)]
        return Server("SQLite", version, tuple(findings))
    spoken = str(connection.execute(text("SELECT VERSION()")).scalar())
    product = "MariaDB" if "mariadb" in spoken.lower() else "MySQL"
    version = parse_version(spoken)
    variables = _variables(connection)
    findings = [*_too_old(product, version)]
    if not findings:
        findings += [*_isolation(variables, connection), *_cluster(variables, connection)]
        findings += durability(variables)
    return Server(product, version, tuple(findings))


def parse_version(spoken: str) -> tuple[int, ...]:
    """`8.0.36-log`, `10.11.6-MariaDB-log` and the older `5.5.5-10.3.1-MariaDB` as numbers."""
    found = _VERSION.match(spoken)
    return tuple(int(part) for part in found.groups() if part) if found else (0,)


def _too_old(product: str, version: tuple[int, ...]) -> Iterator[Finding]:
    oldest = OLDEST[product]
    if version[:2] < oldest:
        found, wanted = (".".join(map(str, numbers)) for numbers in (version, oldest))
        yield _refused(
            "version",
            f"{product} {found} is too old: claims need SKIP LOCKED and checked constraints. "
            f"Use {product} {wanted} or newer.",
        )


def _variables(connection: Connection) -> dict[str, str]:
    rows = connection.execute(text("SHOW GLOBAL VARIABLES"))
    return {name.lower(): value for name, value in rows}


def _isolation(variables: dict[str, str], connection: Connection) -> Iterator[Finding]:
    name = "transaction_isolation" if "transaction_isolation" in variables else "tx_isolation"
    if connection.execute(text(f"SELECT @@SESSION.{name}")).scalar() != "READ-COMMITTED":
        yield _refused(
            "isolation",
            "Connections do not get READ COMMITTED, which claims rely on: a proxy between here and the "
            "server seems to keep its own. Let it pass SET SESSION TRANSACTION through.",
        )
    if variables.get("log_bin") == "ON" and variables.get("binlog_format", "ROW") == "STATEMENT":
        yield _refused(
            "binlog_format",
            "binlog_format is STATEMENT, with which READ COMMITTED cannot write. "
            "SET GLOBAL binlog_format = ROW, and put it into the server's configuration.",
        )
    if variables.get("read_only") not in (None, "OFF", "0"):
        yield _refused(
            "read_only", "The server is read-only: connect to the primary, not to a replica."
        )


def _cluster(variables: dict[str, str], connection: Connection) -> Iterator[Finding]:
    if variables.get("wsrep_on") == "ON":
        yield _refused(
            "galera",
            "This is a Galera cluster, which does not know other nodes' row locks: two agents could hold "
            "one event. Use a single server, or MySQL Group Replication in single-primary mode.",
        )
    if "group_replication_group_name" not in variables:
        return
    members = (
        "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE MEMBER_ID <> ''"
    )
    try:
        if not connection.execute(text(members)).scalar():
            return
    except DBAPIError as error:
        yield _refused(
            "group_replication",
            f"The server does not tell whether it is in a group ({error.orig}): {GRANT} TO the user of "
            "RESTANTE_DATABASE_URL.",
        )
        return
    if variables.get("group_replication_single_primary_mode") != "ON":
        yield _refused(
            "group_replication",
            "The group has several primaries, which do not know each other's row locks: "
            "SELECT group_replication_switch_to_single_primary_mode().",
        )
    if variables.get("group_replication_consistency", "EVENTUAL") == "EVENTUAL":
        yield _refused(
            "group_replication_consistency",
            "group_replication_consistency is EVENTUAL, so a new primary may show an earlier state: "
            "SET PERSIST group_replication_consistency = 'BEFORE_ON_PRIMARY_FAILOVER' on every member.",
        )


def _sqlite(connection: Connection) -> Iterator[Finding]:
    if connection.execute(text("PRAGMA journal_mode")).scalar() != "wal":
        yield _refused(
            "journal_mode",
            "SQLite cannot write ahead here, which network file systems do not allow: put the file on a "
            "local disk, or use MySQL or MariaDB.",
        )
    yield Finding(
        Level.NOTE,
        "sqlite",
        "SQLite is the embedded default: one process, meant for up to 50 agents, 200 streams and "
        "100,000 live events. For more, set RESTANTE_DATABASE_URL to MySQL or MariaDB.",
    )


def _refused(subject: str, sentence: str) -> Finding:
    return Finding(Level.REFUSED, subject, sentence)

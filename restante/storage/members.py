"""A URL with several hosts: the members of a MySQL group, of which one, the primary, takes writes.

Every connection is made to whoever is the primary now. Where a connection's member is the primary no
longer, every connection of the pool is given up, and the next ones look for the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql
from pymysql.constants import CR, ER
from sqlalchemy import Engine, event

GRANT = "GRANT SELECT ON performance_schema.replication_group_members"
# by its own view: is it in the group, leads it, and hears from most of it? A primary that was cut off
# takes statements for a while and can commit none; one that crashed is up again before it has rejoined,
# and would take writes that nobody else has
_ASK = (
    "SELECT MEMBER_STATE, MEMBER_ROLE, @@GLOBAL.super_read_only,"
    " (SELECT 2 * SUM(MEMBER_STATE <> 'UNREACHABLE') > COUNT(*)"
    " FROM performance_schema.replication_group_members)"
    " FROM performance_schema.replication_group_members WHERE MEMBER_ID = @@server_uuid"
)
PATIENCE_SECONDS = 5
"""Until a host has let in and told its state: one that hangs is passed over."""
REFUSALS = frozenset({ER.OPTION_PREVENTS_STATEMENT, 1836, 3781, 3782, 3783, 3796, 3797, 3798, 3799})
"""Of a server that takes no writes (1290, 1836), that was to lead and let a statement wait too long (3781 to
3783), or that leaves its group (3796 to 3799): nothing was done, nor committed where it was a COMMIT."""
_LEAVING = frozenset({ER.SERVER_SHUTDOWN, 3100, 3101})
"""It is being ended, or its group took a transaction back: conflict, or a member that leaves."""


class Members:
    """The hosts of a URL, and which of them was the primary when somebody last looked."""

    def __init__(self, hosts: Sequence[tuple[str, int]]) -> None:
        self._hosts = list(hosts)
        self._last = 0

    def connect(self, dialect: Any, _record: Any, cargs: Any, cparams: dict[str, Any]) -> Any:
        """A connection to the primary: the last one is asked first. What SQLAlchemy's `do_connect` calls."""
        why = []
        begin = self._last
        for step in range(len(self._hosts)):
            number = (begin + step) % len(self._hosts)
            host, port = self._hosts[number]
            try:
                connection = dialect.connect(
                    *cargs,
                    **{**cparams, "host": host, "port": port, "read_timeout": PATIENCE_SECONDS},
                )
            except pymysql.MySQLError as error:
                why.append(f"{host}:{port}: {error}")
                continue
            unfit = what_it_lacks(connection)
            if unfit is None:
                # PyMySQL reads it before each answer, and has no public name for it
                connection._read_timeout = cparams.get("read_timeout")  # noqa: SLF001 - see above
                self._last = number
                return connection
            connection.close()
            why.append(f"{host}:{port} {unfit}")
        raise pymysql.OperationalError(
            CR.CR_CONN_HOST_ERROR, f"No primary among the hosts: {'; '.join(why)}"
        )


def what_it_lacks(connection: Any) -> str | None:
    """Why this server is not the primary of a group; None: it is."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_ASK)
            row = cursor.fetchone()
    except pymysql.MySQLError as error:
        if error.args[0] == ER.TABLEACCESS_DENIED_ERROR:
            return f"does not tell its state: {GRANT} TO the user of RESTANTE_DATABASE_URL"
        return f"does not tell its state: {error}"
    if row is None:
        return "is in no group"
    state, role, read_only, has_majority = row
    if (state, role) != ("ONLINE", "PRIMARY"):
        return f"is {state} {role}".rstrip()
    if read_only:
        return "is read-only"
    return None if has_majority else "hears from no majority"


def follow(engine: Engine, hosts: Sequence[tuple[str, int]]) -> None:
    """Have the engine's connections go to the primary of these."""
    event.listen(engine, "do_connect", Members(hosts).connect)


def leave_if_led_elsewhere(context: Any) -> None:
    """Give up a connection whose member takes no writes (any more): SQLAlchemy's `handle_error`.

    With it goes the pool, whose connections lead to the same member.
    """
    code = context.original_exception.args[0] if context.original_exception.args else None
    if context.connection is None or context.is_disconnect:
        return
    if code in REFUSALS or (code in _LEAVING and not _still_leads(context.connection)):
        context.is_disconnect = True


def _still_leads(connection: Any) -> bool:
    """Whether its server takes writes: then what it took back is known not to have happened.

    A member that leaves takes back what it waits for, and the others may have it all the same.
    """
    try:
        with connection.connection.dbapi_connection.cursor() as cursor:
            cursor.execute("SELECT @@GLOBAL.read_only")
            return bool(cursor.fetchone()[0] == 0)
    except Exception:  # noqa: BLE001 - it is gone, which is the answer
        return False

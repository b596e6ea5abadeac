"""An inbox with very much in it, made by SQL that doubles what is there: for guards of query plans.

At scale 1: 200,000 claimable events, 100,000 scheduled ahead, 100,000 waiting behind ordering keys,
100,000 of other projects, 1,000,000 completed. The suite takes a tenth (seeding a million rows would
cost it minutes); `RESTANTE_PLAN_SCALE=1` has them all, and so has `make bench`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection, text

from restante.inbox.lifecycle import Gate
from restante.storage.clock import database_now
from tests.factories import Mailbox

SCALE = float(os.environ.get("RESTANTE_PLAN_SCALE", "0.1"))


@dataclass(frozen=True)
class Large:
    """The inbox and how many events it has of each kind."""

    mail: Mailbox
    claimable: int
    scheduled: int
    waiting: int
    elsewhere: int
    completed: int

    @property
    def head(self) -> int:
        return self.completed + self.claimable + self.waiting + self.elsewhere


def fill(mail: Mailbox, scale: float = SCALE) -> Large:
    """Fill the agent's empty inbox: the completed first, as in a log that has run for a while."""
    large = Large(
        mail,
        claimable=int(200_000 * scale),
        scheduled=int(100_000 * scale),
        waiting=int(100_000 * scale),
        elsewhere=int(100_000 * scale),
        completed=int(1_000_000 * scale),
    )
    now = mail.run(database_now)
    with mail.database.engine.begin() as connection:
        _numbers(connection, max(large.completed, large.claimable))
        values = {
            "recipient": mail.id,
            "p": mail.tenant.projects["p"].id,
            "q": mail.tenant.projects["q"].id,
            "now": now,
            "ago": now - timedelta(days=1),
            "ahead": now + timedelta(days=1),
        }
        first = 0
        for gate, project, number, extra in (
            (Gate.COMPLETED, ":p", large.completed, ("final_at", ":now")),
            (Gate.CLAIMABLE, ":p", large.claimable, ("final_at", "NULL")),
            (Gate.WAITING, ":p", large.waiting, ("key_hash", "UNHEX(SHA2(n % 100, 256))")),
            (Gate.CLAIMABLE, ":q", large.elsewhere, ("final_at", "NULL")),
        ):
            connection.execute(
                text(
                    "INSERT INTO agent_inbox (recipient_id, sequence_number, event_id, project_id,"
                    f" gate, `rank`, payload_bytes, max_attempts, available_at, {extra[0]})"
                    f" SELECT :recipient, :first + n, UNHEX(LPAD(HEX(:first + n), 32, '0')), {project},"
                    f" {gate.value}, n % 3 - 1, 10, 5, :ago, {extra[1]}"
                    " FROM plan_number WHERE n <= :number"
                ),
                {**values, "first": first, "number": number},
            )
            first += number
        connection.execute(
            text(
                "INSERT INTO event_content (recipient_id, sequence_number, envelope, payload)"
                ' SELECT recipient_id, sequence_number, \'{"project":"p","type":"t"}\', \'{}\''
                " FROM agent_inbox"
                " WHERE recipient_id = :recipient"
            ),
            values,
        )
        connection.execute(
            text(
                "INSERT INTO scheduled_event (event_id, recipient_id, project_id, gate, `rank`,"
                " payload_bytes, max_attempts, available_at, due_at, envelope, payload)"
                " SELECT UNHEX(LPAD(HEX(2000000000 + n), 32, '0')), :recipient, :p, 0, 0, 2, 5,"
                " :ahead, :ahead, '{}', '{}' FROM plan_number WHERE n <= :number"
            ),
            {**values, "number": large.scheduled},
        )
        connection.execute(
            text(
                "INSERT INTO ordering_waiting (recipient_id, project_id, key_hash, sequence_number)"
                " SELECT recipient_id, project_id, key_hash, sequence_number FROM agent_inbox"
                " WHERE recipient_id = :recipient AND gate = 2"
            ),
            values,
        )
        connection.execute(
            text("UPDATE inbox SET head = :head WHERE recipient_id = :recipient"),
            {**values, "head": large.head},
        )
        connection.execute(text("DROP TABLE plan_number"))
    with mail.database.engine.connect() as connection:
        connection.execute(
            text("ANALYZE TABLE agent_inbox, event_content, scheduled_event, ordering_waiting")
        )
    return large


def _numbers(connection: Connection, most: int) -> None:
    """A table of the numbers from 1 to `most`."""
    connection.execute(text("CREATE TABLE plan_number (n INT PRIMARY KEY)"))
    connection.execute(text("INSERT INTO plan_number VALUES (1)"))
    there = 1
    while there < most:
        connection.execute(
            text("INSERT INTO plan_number SELECT n + :there FROM plan_number WHERE n <= :left"),
            {"there": there, "left": most - there},
        )
        there *= 2

"""The floor: the statements without which the work cannot be done, by raw PyMySQL.

Each verb is one transaction on a connection. Events lie under (recipient, sequence number), the
payload in a table of its own, as the product has it; recipients are 16 bytes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import pymysql

Connection = pymysql.connections.Connection

PROJECT = f"{7:032x}"
PENDING, CLAIMED, FINAL = 1, 4, 6

TABLES = (
    """CREATE TABLE raw_inbox (
        recipient_id BINARY(16) PRIMARY KEY,
        head BIGINT NOT NULL DEFAULT 0)""",
    """CREATE TABLE raw_event (
        recipient_id BINARY(16) NOT NULL, sequence_number BIGINT NOT NULL,
        event_id BINARY(16) NOT NULL UNIQUE, project_id BINARY(16) NOT NULL,
        type VARCHAR(128) NOT NULL, gate SMALLINT NOT NULL, `rank` SMALLINT NOT NULL,
        attempts SMALLINT NOT NULL DEFAULT 0, claim_generation BIGINT NOT NULL DEFAULT 0,
        consumer VARCHAR(128) NULL, claim_expires_at DATETIME(6) NULL,
        available_at DATETIME(6) NOT NULL, final_at DATETIME(6) NULL,
        PRIMARY KEY (recipient_id, sequence_number),
        KEY claim (recipient_id, project_id, gate, `rank`, sequence_number))""",
    """CREATE TABLE raw_payload (
        recipient_id BINARY(16) NOT NULL, sequence_number BIGINT NOT NULL,
        body MEDIUMBLOB NOT NULL, PRIMARY KEY (recipient_id, sequence_number))""",
)


def connect(host: str, port: int, database: str) -> Connection:
    """A connection as the product has them: READ COMMITTED, not encrypted on loopback."""
    return pymysql.connect(
        host=host,
        port=port,
        user="root",
        database=database,
        charset="utf8mb4",
        ssl_disabled=True,
        init_command="SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    )


def make_tables(connection: Connection, recipients: Sequence[bytes]) -> None:
    """The floor's tables, with an empty inbox for each recipient."""
    with connection.cursor() as cursor:
        for statement in TABLES:
            cursor.execute(statement)
    if recipients:
        add_inboxes(connection, recipients)


def add_inboxes(connection: Connection, recipients: Sequence[bytes]) -> None:
    """Empty inboxes."""
    with connection.cursor() as cursor:
        values = ",".join(f"(x'{recipient.hex()}',0)" for recipient in recipients)
        cursor.execute(f"INSERT INTO raw_inbox VALUES {values}")
    connection.commit()


def publish(
    connection: Connection, recipient: bytes, payloads: Sequence[bytes]
) -> list[tuple[str, int]]:
    """Take the next numbers, insert events and payloads, commit → (event id, number) of each."""
    to, count = recipient.hex(), len(payloads)
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE raw_inbox SET head=LAST_INSERT_ID(head+{count}) WHERE recipient_id=x'{to}'"
        )
        first = cursor.lastrowid - count + 1
        made = [(_event_id(), first + k) for k in range(count)]
        events = ",".join(
            f"(x'{to}',{number},x'{event_id}',x'{PROJECT}','bench',{PENDING},0,NOW(6))"
            for event_id, number in made
        )
        cursor.execute(
            "INSERT INTO raw_event (recipient_id,sequence_number,event_id,project_id,type,gate,"
            f"`rank`,available_at) VALUES {events}"
        )
        bodies = ",".join(
            f"(x'{to}',{first + k},{connection.escape(body)})" for k, body in enumerate(payloads)
        )
        cursor.execute(f"INSERT INTO raw_payload VALUES {bodies}")
    connection.commit()
    return made


def claim(
    connection: Connection, recipient: bytes, limit: int
) -> list[tuple[bytes, int, int, bytes]]:
    """Lock, lease, fetch, commit → (event id, sequence number, generation, payload) of each."""
    to = recipient.hex()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sequence_number, event_id, claim_generation FROM raw_event"
            f" FORCE INDEX (claim) WHERE recipient_id=x'{to}' AND project_id=x'{PROJECT}'"
            f" AND gate={PENDING} ORDER BY `rank`, sequence_number"
            f" LIMIT {limit} FOR UPDATE SKIP LOCKED"
        )
        rows = cursor.fetchall()
        if rows:
            mine = _keys(to, [row[0] for row in rows])
            cursor.execute(
                f"UPDATE raw_event SET gate={CLAIMED}, claim_generation=claim_generation+1,"
                " attempts=attempts+1, consumer='bench',"
                f" claim_expires_at=NOW(6)+INTERVAL 60 SECOND WHERE {mine}"
            )
            cursor.execute(f"SELECT sequence_number, body FROM raw_payload WHERE {mine}")
            bodies = dict(cursor.fetchall())
    connection.commit()
    return [
        (event_id, number, generation + 1, bodies[number]) for number, event_id, generation in rows
    ]


def ack(connection: Connection, recipient: bytes, held: Sequence[tuple[int, int]]) -> int:
    """Complete events by (sequence number, generation) under the fence, commit → how many."""
    to, done = recipient.hex(), 0
    by_generation: dict[int, list[int]] = {}
    for number, generation in held:
        by_generation.setdefault(generation, []).append(number)
    with connection.cursor() as cursor:
        for generation, numbers in by_generation.items():
            done += cursor.execute(
                f"UPDATE raw_event SET gate={FINAL}, final_at=NOW(6), claim_expires_at=NULL,"
                f" consumer=NULL WHERE {_keys(to, numbers)} AND gate={CLAIMED}"
                f" AND claim_generation={generation} AND claim_expires_at > NOW(6)"
            )
        cursor.execute(f"DELETE FROM raw_payload WHERE {_keys(to, [n for n, _ in held])}")
    connection.commit()
    return done


def _keys(to: str, numbers: Sequence[int]) -> str:
    return f"recipient_id=x'{to}' AND sequence_number IN ({','.join(map(str, numbers))})"


def _event_id() -> str:
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"

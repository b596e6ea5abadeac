"""The floor: the statements the product sends, on the product's tables, by raw PyMySQL.

Each verb is one transaction on a connection, as in the product; the text is what it sends for one
recipient, one project and events alike in all but their payload. No tokens, no checks, no contract.
`tests/engine/test_statements.py` counts the product's statements.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import pymysql

from restante.storage.engine import make_engine
from restante.storage.tables import metadata

Connection = pymysql.connections.Connection

TENANT, PROJECT, SLUG = f"{6:032x}", f"{7:032x}", "bench"
SCOPES = tuple(f"agent:{covered}:{verb}" for covered in (SLUG, "*") for verb in ("read", "claim"))
PENDING, CLAIMED, FINAL = 1, 4, 6
MOST_PENDING = 100_000
ENVELOPE = (
    b'{"project":"bench","type":"bench","priority":0,"correlation_id":null,"causation_id":null,'
    b'"reply_to":null,"ordering_key":null,"producer":{"kind":"service","id":'
    b'"svc_01a22c322e5f7b9b8cd0c9fcb588b42f","name":"producer","signed":false},'
    b'"created_at":"2026-11-30T11:23:35.958952Z","corrects":null,"traceparent":null}'
).hex()


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


def make_tables(url: str) -> None:
    """The product's tables in an empty database, with one tenant and one project."""
    engine = make_engine(url, slots=1)
    metadata.create_all(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO tenant (tenant_id, name, require_signatures, created_at)"
            f" VALUES (x'{TENANT}', 'bench', 0, UTC_TIMESTAMP(6))"
        )
        connection.exec_driver_sql(
            "INSERT INTO project (project_id, tenant_id, slug, created_at)"
            f" VALUES (x'{PROJECT}', x'{TENANT}', '{SLUG}', UTC_TIMESTAMP(6))"
        )
    engine.dispose()


def add_inboxes(connection: Connection, recipients: Sequence[bytes]) -> None:
    """Agents that may read and claim in the project, with empty inboxes."""
    with connection.cursor() as cursor:
        for recipient in recipients:
            to = recipient.hex()
            cursor.execute(
                "INSERT INTO principal (principal_id, tenant_id, kind, name, created_at)"
                f" VALUES (x'{to}', x'{TENANT}', 'agent', '{to}', UTC_TIMESTAMP(6))"
            )
            granted = ",".join(f"(x'{to}','{scope}')" for scope in SCOPES[:2])
            cursor.execute(f"INSERT INTO granted_scope (principal_id, scope) VALUES {granted}")
            cursor.execute(
                "INSERT INTO inbox (recipient_id, tenant_id, epoch, changed_at)"
                f" VALUES (x'{to}', x'{TENANT}', x'{to}', UTC_TIMESTAMP(6))"
            )
    connection.commit()


def publish(
    connection: Connection, recipient: bytes, payloads: Sequence[bytes]
) -> list[tuple[str, int]]:
    """Find the recipient, take numbers, insert, leave a hint, commit → (event id, number) of each."""
    to, count = recipient.hex(), len(payloads)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT principal.principal_id, principal.max_pending, tenant.max_pending,"
            " granted_scope.scope, UTC_TIMESTAMP(6) FROM principal"
            " INNER JOIN tenant ON tenant.tenant_id = principal.tenant_id"
            " LEFT OUTER JOIN granted_scope ON granted_scope.principal_id = principal.principal_id"
            f" AND granted_scope.scope IN {SCOPES} WHERE principal.principal_id IN (x'{to}')"
            f" AND principal.tenant_id = x'{TENANT}' AND principal.kind = 'agent'"
            " AND principal.status != 'removed'"
        )
        now = cursor.fetchall()[0][4]
        cursor.execute(
            f"UPDATE inbox SET head=last_insert_id(head + {count}),"
            f" unsettled_bound=unsettled_bound + {count}, changed_at='{now}'"
            f" WHERE recipient_id = x'{to}' AND unsettled_bound <= {MOST_PENDING - count}"
        )
        last = cursor.lastrowid
        made = [(_event_id(), number) for number in range(last - count + 1, last + 1)]
        events = ",".join(
            f"(x'{to}',{number},x'{event_id}',x'{PROJECT}',{PENDING},0,{len(body)},5,'{now}')"
            for (event_id, number), body in zip(made, payloads, strict=True)
        )
        cursor.execute(
            "INSERT INTO agent_inbox (recipient_id, sequence_number, event_id, project_id, gate,"
            f" `rank`, payload_bytes, max_attempts, available_at) VALUES {events}"
        )
        contents = ",".join(
            f"(x'{to}',{number},x'{ENVELOPE}',NULL,x'{body.hex()}')"
            for (_, number), body in zip(made, payloads, strict=True)
        )
        cursor.execute(
            "INSERT INTO event_content (recipient_id, sequence_number, envelope, options, payload)"
            f" VALUES {contents}"
        )
        cursor.execute(
            "INSERT INTO wake (recipient_id, project_id, head)"
            f" VALUES (x'{to}', x'{PROJECT}', {last})"
        )
    connection.commit()
    return made


def claim(
    connection: Connection, recipient: bytes, limit: int
) -> list[tuple[bytes, int, int, bytes]]:
    """Look, lock, lease, fetch, commit → (event id, sequence number, generation, payload) of each."""
    to = recipient.hex()
    with connection.cursor() as cursor:
        cursor.execute(_look(to))
        cursor.fetchall()
        cursor.execute(
            "SELECT sequence_number, event_id, payload_bytes, attempts, max_attempts,"
            " claim_generation, ordering_sequence, fence_base, available_at, expires_at, redriven,"
            " UTC_TIMESTAMP(6) FROM agent_inbox FORCE INDEX (claim)"
            f" WHERE recipient_id=x'{to}' AND project_id=x'{PROJECT}' AND gate={PENDING}"
            f" ORDER BY `rank`, sequence_number LIMIT {limit} FOR UPDATE SKIP LOCKED"
        )
        rows = cursor.fetchall()
        bodies: dict[int, bytes] = {}
        if rows:
            mine, now = _keys(to, [row[0] for row in rows]), rows[0][11]
            ends = f"TIMESTAMPADD(SECOND, 60, '{now}')"
            cursor.execute(
                f"UPDATE agent_inbox FORCE INDEX (PRIMARY) SET gate={CLAIMED},"
                " attempts=attempts + 1, claim_generation=claim_generation + 1,"
                f" claim_ref=x'{os.urandom(16).hex()}', consumer='bench', claimed_at='{now}',"
                f" first_claimed_at=coalesce(first_claimed_at, '{now}'), claim_expires_at={ends},"
                f" claim_ended_by=0, not_before=NULL, due_at={ends} WHERE {mine}"
            )
            cursor.execute(
                f"SELECT sequence_number, envelope, payload FROM event_content WHERE {mine}"
            )
            bodies = {number: payload for number, _, payload in cursor.fetchall()}
    connection.commit()
    return [(row[1], row[0], row[5] + 1, bodies[row[0]]) for row in rows]


def ack(connection: Connection, recipient: bytes, held: Sequence[tuple[bytes, int]]) -> int:
    """Complete events by (event id, generation) under the fence, commit → how many."""
    to, wanted = recipient.hex(), dict(held)
    ids = ",".join(f"x'{event_id.hex()}'" for event_id in wanted)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT recipient_id, sequence_number, event_id, project_id, gate, claim_generation,"
            " claim_expires_at, claim_ended_by, key_hash, fence_base, final_at, cancel_requested,"
            " available_at, first_claimed_at, claim_only, UTC_TIMESTAMP(6)"
            " FROM agent_inbox FORCE INDEX (uq_agent_inbox_event_id)"
            f" WHERE event_id IN ({ids}) AND recipient_id=x'{to}' FOR UPDATE NOWAIT"
        )
        numbers = [
            row[1]
            for row in cursor.fetchall()
            if row[4] == CLAIMED and row[5] == wanted[row[2]] and row[6] > row[15]
        ]
        if numbers:
            mine = _keys(to, numbers)
            cursor.execute(
                f"UPDATE agent_inbox FORCE INDEX (PRIMARY) SET gate={FINAL}, consumer=NULL,"
                " claim_expires_at=NULL, not_before=NULL, due_at=NULL,"
                f" final_at=UTC_TIMESTAMP(6) WHERE {mine}"
            )
            cursor.execute(f"UPDATE event_content SET payload=NULL WHERE {mine}")
    connection.commit()
    return len(numbers)


def _look(to: str) -> str:
    """What a claim reads before it locks: the inbox, what is due, what is in flight, what there is."""
    now = "TIMESTAMPADD(MICROSECOND, 0, UTC_TIMESTAMP(6))"
    return (
        "SELECT UTC_TIMESTAMP(6), inbox.epoch, inbox.head, inbox.oldest_cursor, inbox.changed_at,"
        " principal.paused, principal.max_in_flight,"
        " (SELECT 1 FROM agent_inbox FORCE INDEX (due_of_inbox)"
        f" WHERE recipient_id = x'{to}' AND due_at <= {now} LIMIT 1),"
        " (SELECT 1 FROM scheduled_event FORCE INDEX (scheduled_of_inbox)"
        f" WHERE recipient_id = x'{to}' AND due_at <= {now} LIMIT 1),"
        " (SELECT max(node.seen_at) FROM open_stream INNER JOIN node"
        f" ON node.node_id = open_stream.node_id WHERE open_stream.recipient_id = x'{to}'),"
        " (SELECT count(*) FROM (SELECT 1 AS one FROM project INNER JOIN agent_inbox"
        f" FORCE INDEX (claim) ON agent_inbox.recipient_id = x'{to}'"
        f" AND agent_inbox.project_id = project.project_id AND agent_inbox.gate = {CLAIMED}"
        f" WHERE project.tenant_id = x'{TENANT}' LIMIT 10000) AS held),"
        " (SELECT count(*) FROM (SELECT `rank` FROM agent_inbox FORCE INDEX (claim)"
        f" WHERE recipient_id = x'{to}' AND project_id = x'{PROJECT}' AND gate = {PENDING}"
        " ORDER BY `rank`, sequence_number LIMIT 102) AS there), 0"
        " FROM inbox INNER JOIN principal ON principal.principal_id = inbox.recipient_id"
        f" WHERE inbox.recipient_id = x'{to}'"
    )


def _keys(to: str, numbers: Sequence[int]) -> str:
    return f"recipient_id=x'{to}' AND sequence_number IN ({','.join(map(str, numbers))})"


def _event_id() -> str:
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"

"""A tenant with a life: hundreds of agents, and so many events in every state, with what they leave behind.

By statements that make the events of an agent at once: a million take a server about two minutes.
Beyond three hundred agents the others have twenty events each (crowd.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from hashlib import sha256
from itertools import islice
from typing import Any

from sqlalchemy import Connection, Table, insert, select, text, update

from bench import crowd
from restante.audit.chain import entry_hash
from restante.coordination.assignments import State
from restante.identity.agents import create_agent
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id, new_ids
from restante.storage.tables.assignments import assignment
from restante.storage.tables.audit import audit_chain, audit_entry
from restante.storage.tables.callbacks import callback_attempt
from restante.storage.tables.events import event_content
from restante.storage.tables.inboxes import inbox
from restante.storage.tables.rooms import room, room_post
from restante.storage.transaction import Session
from tests.http.household import Household
from tests.http.walk import ALL_VERBS
from tests.http.world import World, verbs

AGENTS = 300
AT_ONCE = 5_000
PER_THOUSAND = {"scheduled": 10, "audit": 500, "attempts": 50, "assignments": 60, "posts": 60}
"""Of what events bring with them."""
WAVE = sha256(b"1").hexdigest()[:32]
"""The kind of failure that most of what is quarantined has."""
ACTIONS = ("event.redrive", "event.cancel", "agent.pause", "grant.assign", "callback.approve")

_NOW = "UTC_TIMESTAMP(6)"
_MIXED = "CRC32(CONCAT(:agent, '-', n)) % 1000"
_GATE = (
    f"CASE WHEN n >= 0.84 * :count THEN IF({_MIXED} < 900, 1, 3) WHEN n >="
    " LEAST(0.80 * :count, 0.84 * :count - IF(:agent = 0, 30, 0)) THEN 4"
    f" WHEN {_MIXED} < 42 THEN 5 WHEN {_MIXED} < 54 THEN 7 WHEN {_MIXED} < 66 THEN 8 ELSE 6 END"
)
"""Most of what came is done, what came last is not; one in thirty lies in quarantine."""
_SAID = "ELT(cause, 'E_SCHEMA: no currency', 'E_TIMEOUT: no answer', 'E_LIMIT', 'E_MODEL', 'E_X')"


@dataclass(frozen=True)
class Amount:
    """So many events, and of all else in proportion."""

    events: int

    def of(self, what: str) -> int:
        """How many of it."""
        return max(1, self.events * PER_THOUSAND[what] // 1_000)


def furnish(world: World, home: Household, events: int, *, agents: int = AGENTS) -> None:
    """Fill the tenant of `home`; its agent has the largest inbox, and all that pages show one of."""
    amount, run = Amount(events), world.house.database.run
    others_beside = max(0, agents - AGENTS)
    events -= others_beside * crowd.EVENTS
    tenant_id = world.tenants["acme"]
    first = decode_id(Prefix.AGENT, home.agent.id)
    others = run(lambda s: [_agent(s, tenant_id, number) for number in range(1, AGENTS)])
    with world.house.database.engine.connect() as connection:
        connection.execute(text("CREATE TABLE numbers (n INT PRIMARY KEY)"))
        shares = list(_shares(events))
        numbers = (f"({n})" for n in range(shares[0]))
        while some := ",".join(islice(numbers, AT_ONCE)):
            connection.execute(text(f"INSERT INTO numbers VALUES {some}"))
        inboxes = list(enumerate(zip([first, *others], shares, strict=True)))
        for number, (agent_id, count) in reversed(inboxes):  # the largest received something last
            _events(connection, number, agent_id, count, first)
        _failures(connection, tenant_id)
        _scheduled(connection, first, amount.of("scheduled"))
        connection.execute(text("DROP TABLE numbers"))
        connection.commit()
        crowd.crowd(connection, first, others_beside)
    for rows, table in (
        (_attempts(run(database_now), home, amount.of("attempts")), callback_attempt),
        (_assignments(run, home, amount.of("assignments")), assignment),
        (_posts(run(database_now), home, amount.of("posts")), room_post),
        (_audit(run, tenant_id, home, amount.of("audit")), audit_entry),
    ):
        _write(run, table, rows)
    room_id = decode_id(Prefix.ROOM, home.ids.room_id)
    posts = update(room).where(room.c.room_id == room_id).values(last_number=amount.of("posts"))
    run(lambda s: s.connection().execute(posts))
    with world.house.database.engine.connect() as connection:
        names = connection.execute(text("SHOW TABLES")).scalars().all()
        connection.execute(text(f"ANALYZE TABLE {', '.join(names)}")).all()


def _agent(session: Session, tenant_id: bytes, number: int) -> bytes:
    made = create_agent(
        session, tenant_id, name=f"worker-{number:03}", grants=tuple(verbs("main", *ALL_VERBS))
    )
    return made.id


def _shares(events: int) -> Iterator[int]:
    """How many each agent has: the first a sixth or so, the last very few."""
    weights = [1 / (number + 1) for number in range(AGENTS)]
    total, given, reached = sum(weights), 0, 0.0
    for weight in weights:
        reached += weight / total * events
        yield round(reached) - given
        given = round(reached)


def _events(
    connection: Connection, number: int, recipient_id: bytes, count: int, model: bytes
) -> None:
    head = connection.execute(
        select(inbox.c.head).where(inbox.c.recipient_id == recipient_id)
    ).scalar_one()
    envelope, payload = connection.execute(
        select(event_content.c.envelope, event_content.c.payload)
        .where(event_content.c.recipient_id == model, event_content.c.payload.is_not(None))
        .order_by(event_content.c.sequence_number)
        .limit(1)
    ).one()
    values = {"r": recipient_id, "e": envelope, "y": payload, "agent": number, "count": count}
    connection.execute(
        text(
            "INSERT INTO agent_inbox (recipient_id, sequence_number, event_id, project_id, gate,"
            " `rank`, payload_bytes, max_attempts, attempts, claim_generation, consumer, claimed_at,"
            " first_claimed_at, claim_expires_at, available_at, not_before, due_at, final_at)"
            f" SELECT :r, {head + 1} + n, UNHEX(CONCAT(LPAD(HEX(FLOOR("
            f"UNIX_TIMESTAMP(made_at) * 1000)), 12, '0'), LPAD(HEX({0x7000 + number}), 4, '0'), '8',"
            " LPAD(HEX(n), 15, '0'))), project_id, gate, IF(n % 50 = 0, -5, 0), 300, 5,"
            " IF(gate IN (4, 5, 6), 1, 0), IF(gate IN (4, 5, 6), 1, 0), IF(gate = 4, 'loop-1', NULL),"
            f" IF(gate = 4, {_NOW}, NULL), IF(gate IN (4, 5, 6), made_at, NULL),"
            f" IF(gate = 4, {_NOW} + INTERVAL 12 HOUR, NULL), made_at,"
            f" IF(gate = 3, {_NOW} + INTERVAL 1 DAY, NULL), IF(gate IN (3, 4),"
            f" {_NOW} + INTERVAL IF(gate = 3, 24, 12) HOUR, NULL), IF(gate > 5, {_NOW}, NULL) FROM"
            f" (SELECT n, {_GATE} AS gate, {_NOW} - INTERVAL FLOOR((:count - n) / :count * 2500000)"
            " SECOND AS made_at, IF(n % 4, p.project_id, o.project_id) AS project_id FROM numbers"
            " JOIN inbox i ON i.recipient_id = :r"
            " JOIN project p ON p.tenant_id = i.tenant_id AND p.slug = 'main'"
            " JOIN project o ON o.tenant_id = i.tenant_id AND o.slug = 'other'"
            " WHERE n < :count ORDER BY n) made"
        ),
        values,
    )
    connection.execute(
        text(
            "INSERT INTO event_content (recipient_id, sequence_number, envelope, payload)"
            " SELECT recipient_id, sequence_number, :e, IF(gate = 6, NULL, :y) FROM agent_inbox"
            f" WHERE recipient_id = :r AND sequence_number > {head}"
        ),
        values,
    )
    connection.execute(
        text(
            "UPDATE inbox SET head = head + :count, changed_at = UTC_TIMESTAMP(6),"
            " unsettled_bound = unsettled_bound + :count DIV 5 WHERE recipient_id = :r"
        ),
        values,
    )
    connection.commit()


def _failures(connection: Connection, tenant_id: bytes) -> None:
    """Of quarantined events: one cause came as a wave in the last minutes, the others bit by bit."""
    connection.execute(
        text(
            "INSERT INTO event_failure (event_id, tenant_id, recipient_id, project_id, code, message,"
            " outcome, failed_at, attempt, failure_signature, quarantined_at, quarantine_reason)"
            f" SELECT event_id, :t, recipient_id, project_id, SUBSTRING_INDEX({_SAID}, ':', 1),"
            f" {_SAID}, 'none', fell_at, 1, LEFT(SHA2(cause, 256), 32), fell_at, 'rejected' FROM"
            " (SELECT a.*, IF(CRC32(a.event_id) % 10 < 7, 1, 2 + CRC32(a.event_id) % 4) AS cause,"
            f" {_NOW} - INTERVAL CRC32(a.event_id) % IF(CRC32(a.event_id) % 10 < 7, 600, 600000)"
            " SECOND AS fell_at FROM agent_inbox a LEFT JOIN event_failure f USING (event_id)"
            " WHERE a.gate = 5 AND f.event_id IS NULL) fell"
        ),
        {"t": tenant_id},
    )
    connection.commit()


def _scheduled(connection: Connection, recipient_id: bytes, count: int) -> None:
    connection.execute(
        text(
            "INSERT INTO scheduled_event (event_id, recipient_id, project_id, gate, `rank`,"
            " payload_bytes, max_attempts, available_at, due_at, envelope, payload)"
            " SELECT UNHEX(CONCAT('EE', LPAD(HEX(n), 30, '0'))), :r, a.project_id, 0, 0, 2, 5,"
            f" {_NOW} + INTERVAL 1 + n % 20 DAY, {_NOW} + INTERVAL 1 + n % 20 DAY, c.envelope, '{{}}'"
            " FROM numbers JOIN agent_inbox a ON a.recipient_id = :r AND a.sequence_number = 1"
            " JOIN event_content c ON c.recipient_id = :r AND c.sequence_number = 1"
            f" WHERE n < {count}"
        ),
        {"r": recipient_id},
    )
    connection.commit()


def _attempts(now: Any, home: Household, count: int) -> Iterator[dict[str, Any]]:
    callback_id = decode_id(Prefix.CALLBACK, home.ids.callback_id)
    for number, attempt_id in enumerate(new_ids(count)):
        yield {
            "attempt_id": attempt_id,
            "callback_id": callback_id,
            "event_id": None,
            "at": now - timedelta(seconds=count - number),
            "outcome": "delivered",
            "status": 204,
            "duration_ms": 40,
            "attempt": 1,
            "next_at": None,
        }


def _assignments(run: Any, home: Household, count: int) -> Iterator[dict[str, Any]]:
    """Ended like the one that is there, but for its event, which they had; one in fifty nobody got."""
    asked = select(assignment).where(
        assignment.c.assignment_id == decode_id(Prefix.ASSIGNMENT, home.ids.assignment_id)
    )
    model = dict(run(lambda s: s.connection().execute(asked).mappings().one()))
    for number, assignment_id in enumerate(new_ids(count)):
        ended = State.COMPLETED if number % 50 else State.UNROUTABLE
        yield model | {
            "assignment_id": assignment_id,
            "state": ended.value,
            "ended_at": model["created_at"],
            "due_at": None,
        }


def _posts(now: Any, home: Household, count: int) -> Iterator[dict[str, Any]]:
    room_id = decode_id(Prefix.ROOM, home.ids.room_id)
    for number, post_id in enumerate(new_ids(count), 1):
        yield {
            "room_id": room_id,
            "number": number,
            "post_id": post_id,
            "author": home.agent.id,
            "content": b'"Who takes the Lisbon case?"',
            "created_at": now - timedelta(seconds=count - number),
        }


def _audit(run: Any, tenant_id: bytes, home: Household, count: int) -> Iterator[dict[str, Any]]:
    """Entries of the tenant's chain, which stays whole; the operator who reads adds to it afterwards."""
    of = audit_chain.c.chain_id == tenant_id
    end = run(lambda s: s.connection().execute(select(audit_chain).where(of)).one())
    previous, now = end.last_hash, run(database_now)
    for number, entry_id in enumerate(new_ids(count)):
        row = {
            "chain_id": tenant_id,
            "number": end.last_number + 1 + number,
            "entry_id": entry_id,
            "at": now,
            "actor_kind": "service",
            "actor_id": home.boss.id,
            "action": ACTIONS[number % len(ACTIONS)],
            "target": home.agent.id if number % 7 == 0 else encode_id(Prefix.EVENT, entry_id),
            "outcome": "done",
            "reason": "as it was asked",
            "address": "192.0.2.7",
            "request_id": None,
            "previous_hash": previous,
        }
        previous = row["entry_hash"] = entry_hash(row)
        yield row
    last = {"last_number": end.last_number + count, "last_hash": previous}
    run(lambda s: s.connection().execute(update(audit_chain).where(of).values(**last)))


def _write(run: Any, table: Table, rows: Iterator[dict[str, Any]]) -> None:
    while some := list(islice(rows, AT_ONCE)):
        run(lambda s, some=some: s.connection().execute(insert(table), some))

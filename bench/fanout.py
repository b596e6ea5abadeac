"""Fan-out: one post to the 1,000 members of a room, beside 1,000 rows inserted by raw PyMySQL.

The floor is two statements and a commit: 1,000 rows of `agent_inbox` with their numbers known, and
1,000 of `event_content`. The product besides finds the room and its members, looks at what each of them
may read, locks 1,000 inboxes, counts, moves their heads, numbers and keeps the post, and rings.
"""

from __future__ import annotations

import gc
import os
import time
from dataclasses import dataclass
from statistics import median

from sqlalchemy import insert
from sqlalchemy.engine import make_url
from sqlalchemy.orm import Session

from bench import raw
from restante.coordination.posts import add_post
from restante.coordination.rooms import MOST_MEMBERS, create_room
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.projects import create_project, projects_of
from restante.identity.scopes import TenantScope
from restante.identity.tenants import create_tenant
from restante.inbox.known_recipients import KNOWN, Known
from restante.storage.clock import database_now
from restante.storage.engine import make_engine
from restante.storage.ids import new_id
from restante.storage.tables import metadata
from restante.storage.tables.identity import granted_scope, principal
from restante.storage.tables.inboxes import inbox
from restante.storage.transaction import Database
from tests.support.servers import Server
from workers.worker import COLLECT_AFTER

LEAST = 0.5
"""Of the rate of the raw rows."""

SLUG = "bench"
CONTENT = b'"' + b"x" * 298 + b'"'
PAYLOAD_BYTES = len(CONTENT) + 180
ENVELOPE_BYTES = 320


@dataclass(frozen=True)
class Fanout:
    """Of one post, in milliseconds, medians."""

    kind: str
    raw_ms: float
    post_ms: float

    @property
    def ratio(self) -> float:
        """The rate of the product in that of the floor."""
        return self.raw_ms / self.post_ms

    def told(self) -> dict[str, float | str]:
        """For the result file."""
        return {"kind": self.kind, "raw_ms": self.raw_ms, "post_ms": self.post_ms}


class Floor:
    """Raw rows, in tables that are the product's."""

    def __init__(self, server: Server) -> None:
        url = server.create_database("bench_rows")
        engine = make_engine(url, slots=1)
        metadata.create_all(engine)
        engine.dispose()
        parts = make_url(url)
        self._connection = raw.connect(parts.host, parts.port, parts.database)
        self._recipients = sorted(new_id().hex() for _ in range(MOST_MEMBERS))
        self._project, self._number = new_id().hex(), 0

    def post(self) -> None:
        self._number += 1
        number = self._number
        body, envelope = (os.urandom(size).hex() for size in (PAYLOAD_BYTES, ENVELOPE_BYTES))
        events = ",".join(
            f"(x'{to}',{number},x'{new_id().hex()}',x'{self._project}',1,0,{PAYLOAD_BYTES},5,"
            "UTC_TIMESTAMP(6))"
            for to in self._recipients
        )
        contents = ",".join(
            f"(x'{to}',{number},x'{envelope}',NULL,x'{body}')" for to in self._recipients
        )
        with self._connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO agent_inbox (recipient_id, sequence_number, event_id, project_id, gate,"
                f" `rank`, payload_bytes, max_attempts, available_at) VALUES {events}"
            )
            cursor.execute(
                "INSERT INTO event_content (recipient_id, sequence_number, envelope, options,"
                f" payload) VALUES {contents}"
            )
        self._connection.commit()

    def close(self) -> None:
        self._connection.close()


class Room:
    """The product's room."""

    def __init__(self, server: Server) -> None:
        url = server.create_database("bench_room")
        self.database = Database(make_engine(url, slots=2), info={KNOWN: Known()})
        metadata.create_all(self.database.engine)
        self.author, members = self.database.run(_enrol)
        self.id = self.database.run(
            lambda s: create_room(s, self.author, project=SLUG, name="bench", members=members)
        )

    def post(self) -> None:
        self.database.run(
            lambda s: add_post(s, self.author, self.id, CONTENT, most_bytes=256 * 1024)
        )

    def close(self) -> None:
        self.database.engine.dispose()


def _enrol(session: Session) -> tuple[Principal, list[bytes]]:
    """A service that posts, and the agents that it posts to."""
    tenant = create_tenant(session, "bench", require_signatures=False)
    create_project(session, tenant.id, SLUG)
    now, members = database_now(session), [new_id() for _ in range(MOST_MEMBERS)]
    common = {"tenant_id": tenant.id, "kind": "agent", "created_at": now}
    rows = {
        principal: [common | {"principal_id": one, "name": one.hex()} for one in members],
        granted_scope: [
            {"principal_id": one, "scope": f"agent:{SLUG}:{verb}"}
            for one in members
            for verb in ("read", "claim")
        ],
        inbox: [
            {"recipient_id": one, "tenant_id": tenant.id, "epoch": new_id()} for one in members
        ],
    }
    for table, made in rows.items():
        session.connection().execute(insert(table), made)
    scopes = frozenset({TenantScope.EVENTS_PUBLISH})
    projects = projects_of(session, tenant.id)
    author = Principal(tenant.id, PrincipalKind.SERVICE, new_id(), "author", scopes, projects)
    return author, members


def measure(server: Server, *, posts: int) -> Fanout:
    """Both, in turn; the first two of each warm up. Rubbish is collected as in a web worker."""
    floor, room = Floor(server), Room(server)
    gc.collect()
    gc.freeze()
    gc.set_threshold(COLLECT_AFTER, 10, 10)
    taken: dict[object, list[float]] = {floor: [], room: []}
    for _ in range(posts + 2):
        for side, lengths in taken.items():
            began = time.perf_counter()
            side.post()
            lengths.append((time.perf_counter() - began) * 1000)
    floor.close()
    room.close()
    return Fanout(server.kind, median(taken[floor][2:]), median(taken[room][2:]))

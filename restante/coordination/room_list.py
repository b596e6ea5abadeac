"""Rooms as their tenant's operators see them; what was posted apart, since that it was seen is audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.coordination.rooms import Room
from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.tenant_settings import redacted_for
from restante.inbox.redaction import redact
from restante.storage import page_token
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.rooms import room, room_member, room_post


@dataclass(frozen=True, slots=True)
class RoomLine:
    """A room, how many are in it, and when something was posted last; None: nothing yet."""

    room: Room
    members: int
    posted_at: datetime | None

    @property
    def public_id(self) -> str:
        """`room_…`."""
        return encode_id(Prefix.ROOM, self.room.id)


@dataclass(frozen=True, slots=True)
class Head:
    """A post without what it says. `size`: of that, in bytes."""

    number: int
    author: str
    created_at: datetime
    size: int


def list_rooms(
    session: Session, administrator: Administrator, *, limit: int, token: str | None = None
) -> tuple[list[RoomLine], str | None]:
    """The newest first → (rooms, next page token). Raises PageTokenInvalid."""
    administrator.require(Right.EVENTS_READ)
    of = ("rooms", administrator.tenant_id.hex())
    before = page_token.take(session, of, token)
    asked = select(room).where(room.c.tenant_id == administrator.tenant_id)
    if before is not None:
        asked = asked.where(room.c.room_id < bytes.fromhex(before))
    connection = session.connection()
    rows = connection.execute(asked.order_by(room.c.room_id.desc()).limit(limit + 1)).all()
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.room_id.hex())
    return _lines(session, administrator.tenant_id, shown), more


def read_room(session: Session, administrator: Administrator, room_id: bytes | None) -> RoomLine:
    """One of the tenant's. Raises NotFound."""
    administrator.require(Right.EVENTS_READ)
    asked = select(room).where(
        room.c.tenant_id == administrator.tenant_id, room.c.room_id == room_id
    )
    row = session.connection().execute(asked).first()
    if row is None:
        raise NotFound
    return _lines(session, administrator.tenant_id, [row])[0]


def list_heads(
    session: Session, administrator: Administrator, found: Room, *, before: int | None, limit: int
) -> list[Head]:
    """Posts of a room that was found (`read_room`), the latest first, those before a number."""
    administrator.require(Right.EVENTS_READ)
    columns = room_post.c
    asked = _of(
        select(columns.number, columns.author, columns.created_at, func.length(columns.content)),
        found,
        before,
        limit,
    )
    return [Head(*row) for row in session.connection().execute(asked)]


def read_contents(
    session: Session, administrator: Administrator, found: Room, *, before: int | None, limit: int
) -> dict[int, bytes]:
    """What the same posts say, by number, as JSON was received but for what is redacted; it is audited."""
    administrator.require(Right.EVENTS_READ)
    asked = _of(select(room_post.c.number, room_post.c.content), found, before, limit)
    rules = redacted_for(session, administrator)
    told = {
        row.number: _redacted(row.content, rules) for row in session.connection().execute(asked)
    }
    if told:
        reason = f"posts {min(told)} to {max(told)}"
        target = encode_id(Prefix.ROOM, found.id)
        by = administrator.by
        entry = Entry(administrator.tenant_id, by, Action.PAYLOAD_READ, target, reason=reason)
        record(session, entry)
    return told


def _redacted(content: bytes, rules: Sequence[str]) -> bytes:
    if not rules:
        return content
    shown = redact(_BEGINS + content + b"}", rules)
    return shown.removeprefix(_BEGINS).removesuffix(b"}") if shown.startswith(_BEGINS) else shown


_BEGINS = b'{"content":'
"""Of the payload of a post, of which its content is a part (posts.py)."""


def _of(asked: Any, found: Room, before: int | None, limit: int) -> Any:
    asked = asked.where(room_post.c.room_id == found.id)
    if before is not None:
        asked = asked.where(room_post.c.number < before)
    return asked.order_by(room_post.c.number.desc()).limit(limit)


def _lines(session: Session, tenant_id: bytes, rows: Sequence[Any]) -> list[RoomLine]:
    if not rows:
        return []
    ids = [row.room_id for row in rows]
    projects = {project.id: project for project in projects_of(session, tenant_id).values()}
    connection = session.connection()
    members = connection.execute(
        select(room_member.c.room_id, func.count().label("members"))
        .where(room_member.c.room_id.in_(ids))
        .group_by(room_member.c.room_id)
    )
    counts = {one.room_id: one.members for one in members}
    latest = connection.execute(
        select(room.c.room_id, room_post.c.created_at)
        .join(
            room_post,
            (room_post.c.room_id == room.c.room_id) & (room_post.c.number == room.c.last_number),
        )
        .where(room.c.room_id.in_(ids))
    )
    posted = {one.room_id: one.created_at for one in latest}
    return [
        RoomLine(
            Room(
                row.room_id,
                projects[row.project_id],
                row.name,
                row.created_by,
                row.created_at,
                row.last_number,
            ),
            counts.get(row.room_id, 0),
            posted.get(row.room_id),
        )
        for row in rows
    ]

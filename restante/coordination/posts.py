"""Posts: one more number in the room and an event to every member but the author, in one transaction.

Lock order: the inbox rows of those it goes to, then the room's row, under which numbers are given.
Any two posts that reach one inbox wait for its row, so numbers and inboxes have one order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson
from sqlalchemy import insert, select, update
from sqlalchemy.orm import Session

from restante.coordination.rooms import Room, find_room, member_ids
from restante.errors import NotFound, PayloadTooLarge, RecipientRefused, ValidationFailed
from restante.identity.principal import Principal, PrincipalKind
from restante.identity.scopes import Verb
from restante.inbox.publication import Publication
from restante.inbox.publish import publish, write
from restante.inbox.rules import PAGE_BYTES
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id, new_id
from restante.storage.tables.rooms import room, room_member, room_post

TYPE = "meeting_room_post"
MOST_BYTES = 32 * 1024 * 1024
"""Of a post times those it goes to (contract 3)."""


@dataclass(frozen=True, slots=True)
class Post:
    """A post. `content`: JSON as it was received; `author`: a public id."""

    id: bytes
    number: int
    author: str
    content: bytes
    created_at: datetime


def add_post(
    session: Session, author: Principal, room_id: bytes | None, content: bytes, *, most_bytes: int
) -> int:
    """Post `content` (JSON), at most `most_bytes` as an event's payload → the post's number.

    A member that was removed or has lost the project is passed over. Raises NotFound,
    PayloadTooLarge, InboxFull.
    """
    within = find_room(session, author, room_id, Verb.PUBLISH)
    post_id = new_id()
    payload = orjson.dumps(
        {
            "type": TYPE,
            "room_id": encode_id(Prefix.ROOM, within.id),
            "post_id": encode_id(Prefix.POST, post_id),
            "author": author.public_id,
            "content": orjson.Fragment(content),
        }
    )
    to = [agent for agent in member_ids(session, within.id) if agent != author.id]
    if len(payload) > most_bytes:
        raise PayloadTooLarge(
            f"A post may make a payload of {most_bytes} bytes.",
            pointer="/content",
            limit_bytes=most_bytes,
        )
    if len(payload) * len(to) > MOST_BYTES:
        raise PayloadTooLarge(
            f"A post times those it goes to may have {MOST_BYTES} bytes.", limit_bytes=MOST_BYTES
        )
    if to:
        _tell(session, author, within, to, payload)
    return _number(session, within, post_id, author, content)


def read_post(session: Session, room_id: bytes, number: int) -> Post:
    """One post of a room that its reader may see. Raises NotFound: it is older than events are kept."""
    row = (
        session.connection()
        .execute(
            select(room_post).where(room_post.c.room_id == room_id, room_post.c.number == number)
        )
        .first()
    )
    if row is None:
        raise NotFound
    return Post(row.post_id, row.number, row.author, row.content, row.created_at)


def list_posts(
    session: Session, reader: Principal, room_id: bytes | None, *, after: int, limit: int
) -> tuple[list[Post], bool]:
    """Posts with a greater number, ascending → (posts, whether there are more).

    At most `limit` and 4 MiB. That a member asks for what comes after a post says that it has read it.
    Raises NotFound; ValidationFailed beyond the last post, which nobody can have read.
    """
    within = find_room(session, reader, room_id, Verb.READ)
    if after > within.last_number:
        raise ValidationFailed.at(
            "after", f"must be at most {within.last_number}: the number of the room's last post"
        )
    connection = session.connection()
    rows = connection.execute(
        select(room_post)
        .where(room_post.c.room_id == within.id, room_post.c.number > after)
        .order_by(room_post.c.number)
        .limit(limit + 1)
    ).all()
    posts: list[Post] = []
    size = 0
    for row in rows[:limit]:
        size += len(row.content)
        if posts and size > PAGE_BYTES:
            break
        posts.append(Post(row.post_id, row.number, row.author, row.content, row.created_at))
    if reader.kind is PrincipalKind.AGENT and after:
        connection.execute(
            update(room_member)
            .where(
                room_member.c.room_id == within.id,
                room_member.c.agent_id == reader.id,
                room_member.c.read_number < after,
            )
            .values(read_number=after)
        )
    return posts, len(rows) > len(posts)


def _tell(
    session: Session, author: Principal, within: Room, to: Sequence[bytes], payload: bytes
) -> None:
    """Publish to those of the members that can be written to."""
    while to:
        message = Publication(
            recipients=tuple(to), project=within.project.slug, type=TYPE, payload=payload
        )
        try:
            publish(session, author, [message])
            break
        except RecipientRefused as refused:
            gone = {decode_id(Prefix.AGENT, told) for told in refused.members["recipients"]}
            to = [agent for agent in to if agent not in gone]
    write(session)


def _number(
    session: Session, within: Room, post_id: bytes, author: Principal, content: bytes
) -> int:
    connection = session.connection()
    last = connection.execute(
        select(room.c.last_number).where(room.c.room_id == within.id).with_for_update()
    ).scalar_one()
    number = int(last) + 1
    connection.execute(update(room).where(room.c.room_id == within.id).values(last_number=number))
    connection.execute(
        insert(room_post),
        {
            "room_id": within.id,
            "number": number,
            "post_id": post_id,
            "author": author.public_id,
            "content": content,
            "created_at": database_now(session),
        },
    )
    return number

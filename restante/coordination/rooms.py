"""Rooms: made in a project, seen by their members and by services that see all of the tenant.

Whoever is neither is answered as if there were no such room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, delete, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.errors import NotFound, ValidationFailed
from restante.identity.principal import Principal, PrincipalKind, Project
from restante.identity.scopes import TenantScope, Verb
from restante.inbox.publication import Publication
from restante.inbox.recipients import check_recipients, project_of
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.statement import Statement
from restante.storage.tables.rooms import room, room_member
from restante.storage.transaction import Repeat

MOST_MEMBERS = 1_000


@dataclass(frozen=True, slots=True)
class Member:
    """An agent of a room. `read_number`: the post after which it last asked for more; 0: none."""

    agent_id: bytes
    joined_at: datetime
    read_number: int


@dataclass(frozen=True, slots=True)
class Room:
    """A room. `last_number`: of its latest post; 0: none yet. `created_by`: a public id."""

    id: bytes
    project: Project
    name: str
    created_by: str
    created_at: datetime
    last_number: int


def create_room(
    session: Session, creator: Principal, *, project: str, name: str, members: Sequence[bytes]
) -> bytes:
    """A room with these agents, and with its creator where that is one → its id.

    Raises InsufficientScope or ValidationFailed for the project, RecipientRefused for members.
    """
    within = project_of(creator, _message(project, ()), "")
    agents = list(dict.fromkeys(members))
    if creator.kind is PrincipalKind.AGENT and creator.id not in agents:
        agents.append(creator.id)
    _check_members(session, creator, project, agents)
    room_id, now = new_id(), database_now(session)
    session.connection().execute(
        insert(room),
        {
            "room_id": room_id,
            "tenant_id": creator.tenant_id,
            "project_id": within.id,
            "name": name,
            "created_by": creator.public_id,
            "created_at": now,
        },
    )
    if agents:
        rows = [{"room_id": room_id, "agent_id": agent, "joined_at": now} for agent in agents]
        session.connection().execute(insert(room_member), rows)
    return room_id


def find_room(session: Session, who: Principal, room_id: bytes | None, verb: Verb) -> Room:
    """The room, for one who may read in it or (verb publish) write. Raises NotFound."""
    row = (
        session.connection()
        .execute(select(room).where(room.c.tenant_id == who.tenant_id, room.c.room_id == room_id))
        .first()
    )
    if row is None:
        raise NotFound
    within = {project.id: project for project in _covered(who, verb)}.get(row.project_id)
    if within is None or not (_sees_all(who, verb) or is_member(session, row.room_id, who.id)):
        raise NotFound
    return Room(row.room_id, within, row.name, row.created_by, row.created_at, row.last_number)


def list_rooms(
    session: Session, who: Principal, *, limit: int, token: str | None = None
) -> tuple[list[Room], str | None]:
    """The rooms one may read in, the oldest first → (rooms, next page token). PageTokenInvalid."""
    of = ("rooms", who.public_id)
    after = page_token.take(session, of, token)
    projects = {project.id: project for project in _covered(who, Verb.READ)}
    query = select(room).where(
        room.c.tenant_id == who.tenant_id, room.c.project_id.in_(sorted(projects))
    )
    if not _sees_all(who, Verb.READ):
        query = query.join(room_member, room_member.c.room_id == room.c.room_id).where(
            room_member.c.agent_id == who.id
        )
    if after is not None:
        query = query.where(room.c.room_id > bytes.fromhex(after))
    rows = session.connection().execute(query.order_by(room.c.room_id).limit(limit + 1)).all()
    found = [
        Room(r.room_id, projects[r.project_id], r.name, r.created_by, r.created_at, r.last_number)
        for r in rows[:limit]
    ]
    more = len(rows) > limit
    return found, page_token.give(session, of, found[-1].id.hex()) if more else None


def members_of(session: Session, room_id: bytes) -> list[Member]:
    """Its members, in the order in which they joined."""
    rows = session.connection().execute(
        select(room_member)
        .where(room_member.c.room_id == room_id)
        .order_by(room_member.c.joined_at, room_member.c.agent_id)
    )
    return [Member(row.agent_id, row.joined_at, row.read_number) for row in rows]


def member_ids(session: Session, room_id: bytes) -> list[bytes]:
    """Its members, by id."""
    return [row.agent_id for row in _MEMBER_IDS.rows(session, {"room": room_id})]


def add_member(session: Session, who: Principal, room_id: bytes | None, agent_id: bytes) -> Room:
    """Let an agent in; one that is in stays as it is. Raises NotFound, RecipientRefused.

    ValidationFailed beyond 1,000 members.
    """
    found = find_room(session, who, room_id, Verb.PUBLISH)
    _check_members(session, who, found.project.slug, [agent_id])
    connection = session.connection()
    # the room's row is the lock under which members are counted
    connection.execute(select(room.c.room_id).where(room.c.room_id == found.id).with_for_update())
    if is_member(session, found.id, agent_id):
        return found
    counted = select(func.count()).where(room_member.c.room_id == found.id)
    if connection.execute(counted).scalar_one() >= MOST_MEMBERS:
        raise ValidationFailed.at("", f"a room has at most {MOST_MEMBERS} members")
    joined = {"room_id": found.id, "agent_id": agent_id, "joined_at": database_now(session)}
    try:
        connection.execute(insert(room_member), joined)
    except IntegrityError as error:
        raise Repeat from error
    return found


def remove_member(session: Session, who: Principal, room_id: bytes | None, agent_id: bytes) -> Room:
    """Let an agent out; one that is not in stays out. Posts from now on do not reach it."""
    found = find_room(session, who, room_id, Verb.PUBLISH)
    session.connection().execute(
        delete(room_member).where(
            room_member.c.room_id == found.id, room_member.c.agent_id == agent_id
        )
    )
    return found


def is_member(session: Session, room_id: bytes, agent_id: bytes) -> bool:
    """Whether the agent is in the room."""
    asked = select(room_member.c.agent_id).where(
        room_member.c.room_id == room_id, room_member.c.agent_id == agent_id
    )
    return session.connection().execute(asked).first() is not None


def _check_members(
    session: Session, who: Principal, project: str, members: Sequence[bytes]
) -> None:
    if len(members) > MOST_MEMBERS:
        raise ValidationFailed.at("/members", f"a room has at most {MOST_MEMBERS} members")
    if members:
        check_recipients(session, who, [_message(project, members)])


def _message(project: str, recipients: Sequence[bytes]) -> Publication:
    return Publication(recipients=tuple(recipients), project=project, type="", payload=b"")


_MEMBER_IDS = Statement(
    select(room_member.c.agent_id)
    .where(room_member.c.room_id == bindparam("room"))
    .order_by(room_member.c.agent_id)
)
_OF_ALL = {Verb.READ: TenantScope.EVENTS_READ, Verb.PUBLISH: TenantScope.EVENTS_PUBLISH}


def _sees_all(who: Principal, verb: Verb) -> bool:
    return who.has(_OF_ALL[verb])


def _covered(who: Principal, verb: Verb) -> Sequence[Any]:
    return tuple(who.projects.values()) if _sees_all(who, verb) else who.covered(verb)

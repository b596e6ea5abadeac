"""Rooms and who is in them (contract 6.2)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from blueprints import examples
from blueprints.access import any_of
from blueprints.calls import Call, Reply
from blueprints.coordination.blueprint import coordination
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, IdText, ListQuery, Slug, Tidy
from blueprints.idempotency import once
from blueprints.shapes import WireInstant
from restante.coordination import rooms
from restante.errors import (
    IdempotencyInFlight,
    IdempotencyKeyReused,
    PageTokenInvalid,
    RecipientRefused,
)
from restante.identity.scopes import TenantScope, Verb
from restante.inbox.envelope import instant
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.transaction import Session

TAG = "Rooms"
READERS = any_of(Verb.READ, TenantScope.EVENTS_READ)
WRITERS = any_of(Verb.PUBLISH, TenantScope.EVENTS_PUBLISH)


class RoomBody(Body):
    """A room to be. An agent that makes one is in it, whether it names itself or not."""

    project: Slug
    name: Annotated[Tidy, Field(min_length=1, max_length=190)]
    members: Annotated[
        list[IdText],
        Field(
            max_length=rooms.MOST_MEMBERS, description="Agents of the tenant that have the project."
        ),
    ]


class Member(Answer):
    """An agent of the room."""

    agent_id: str
    joined_at: WireInstant
    read_number: int = Field(description="The post after which it last asked for more; 0: none.")


class Room(Answer):
    """A room and who is in it, in the order in which they came."""

    room_id: str
    project: str
    name: str
    members: list[str]
    read: list[Member] = Field(description="How far each has read.")
    created_by: str
    created_at: WireInstant
    last_number: int = Field(description="Of its latest post; 0: there is none.")


class RoomSummary(Answer):
    """A room without its members."""

    room_id: str
    project: str
    name: str
    created_by: str
    created_at: WireInstant
    last_number: int


class Rooms(Answer):
    """A page of rooms, the oldest first."""

    rooms: list[RoomSummary]
    next_page_token: str | None


ROOM_ID = "room_0198c5a1f3f17e3692a4b6c8dae1f357"
SUMMARY: dict[str, Any] = {
    "room_id": ROOM_ID,
    "project": "main",
    "name": "release",
    "created_by": examples.AGENT_ID,
    "created_at": examples.CREATED_AT,
    "last_number": 0,
}
ROOM: dict[str, Any] = {
    **SUMMARY,
    "members": [examples.AGENT_ID, examples.WORKER_ID],
    "read": [
        {"agent_id": member, "joined_at": examples.CREATED_AT, "read_number": 0}
        for member in (examples.AGENT_ID, examples.WORKER_ID)
    ],
}


@Endpoint(
    method="POST",
    access=WRITERS,
    tag=TAG,
    summary="Create a room",
    description="Posts in it reach every member's inbox, in one order.",
    body=RoomBody,
    examples={
        "two": {"project": "main", "name": "release", "members": [examples.WORKER_ID]},
    },
    answer=Room,
    answer_examples={"made": ROOM},
    status=201,
    problems=(RecipientRefused, IdempotencyKeyReused, IdempotencyInFlight),
    creates=True,
).route(coordination, "/rooms")
def create_room(session: Session, call: Call) -> Reply:
    """Make one."""
    asked: RoomBody = call.body

    def create() -> str:
        made = rooms.create_room(
            session,
            call.principal,
            project=asked.project,
            name=asked.name,
            members=[agent_named(named) for named in asked.members],
        )
        return made.hex()

    def render(made: str) -> dict[str, Any]:
        room_id = bytes.fromhex(made)
        return shown_room(session, rooms.find_room(session, call.principal, room_id, Verb.PUBLISH))

    return once(session, call, create, render=render)


@Endpoint(
    method="GET",
    access=READERS,
    tag=TAG,
    summary="List rooms",
    description="Those one is in; with `tenant:events:read` all of the tenant.",
    query=ListQuery,
    answer=Rooms,
    answer_examples={"one": {"rooms": [SUMMARY], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(coordination, "/rooms")
def list_rooms(session: Session, call: Call) -> Reply:
    """A page of them."""
    found, token = rooms.list_rooms(
        session, call.principal, limit=call.query.limit, token=call.query.page_token
    )
    return Reply({"rooms": list(map(_summary, found)), "next_page_token": token})


@Endpoint(
    method="GET",
    access=READERS,
    tag=TAG,
    summary="Read a room",
    description="For its members, and with `tenant:events:read`.",
    answer=Room,
    answer_examples={"one": ROOM},
).route(coordination, "/rooms/<room_id>")
def read_room(session: Session, call: Call) -> Reply:
    """One."""
    found = rooms.find_room(session, call.principal, room_of(call), Verb.READ)
    return Reply(shown_room(session, found))


@Endpoint(
    method="PUT",
    access=WRITERS,
    tag=TAG,
    summary="Let an agent into a room",
    description="Any member may. One that is in stays as it is.",
    answer=Room,
    answer_examples={"one": ROOM},
    problems=(RecipientRefused,),
).route(coordination, "/rooms/<room_id>/members/<agent_id>")
def add_member(session: Session, call: Call) -> Reply:
    """In."""
    # whether there is such a room comes first: who does not see it learns nothing of agents
    within = rooms.find_room(session, call.principal, room_of(call), Verb.PUBLISH)
    agent_id = agent_named(call.path["agent_id"])
    found = rooms.add_member(session, call.principal, within.id, agent_id)
    return Reply(shown_room(session, found))


@Endpoint(
    method="DELETE",
    access=WRITERS,
    tag=TAG,
    summary="Let an agent out of a room",
    description="Any member may, and may leave. Posts from then on do not reach it; what it has stays.",
    answer=Room,
    answer_examples={"one": {**ROOM, "members": [], "read": []}},
).route(coordination, "/rooms/<room_id>/members/<agent_id>")
def remove_member(session: Session, call: Call) -> Reply:
    """Out."""
    agent_id = decode_id(Prefix.AGENT, call.path["agent_id"]) or b""
    found = rooms.remove_member(session, call.principal, room_of(call), agent_id)
    return Reply(shown_room(session, found))


def room_of(call: Call) -> bytes | None:
    """The id of the path's room; None: nobody's."""
    return decode_id(Prefix.ROOM, call.path["room_id"])


def agent_named(text: str) -> bytes:
    """The agent of an id that is to be let in; one that does not decode is refused like an unknown one."""
    raw = decode_id(Prefix.AGENT, text)
    if raw is None:
        raise RecipientRefused(recipients=[text])
    return raw


def shown_room(session: Session, room: rooms.Room) -> dict[str, Any]:
    """As JSON has it."""
    members = [
        {
            "agent_id": encode_id(Prefix.AGENT, member.agent_id),
            "joined_at": instant(member.joined_at),
            "read_number": member.read_number,
        }
        for member in rooms.members_of(session, room.id)
    ]
    return {**_summary(room), "members": [m["agent_id"] for m in members], "read": members}


def _summary(room: rooms.Room) -> dict[str, Any]:
    return {
        "room_id": encode_id(Prefix.ROOM, room.id),
        "project": room.project.slug,
        "name": room.name,
        "created_by": room.created_by,
        "created_at": instant(room.created_at),
        "last_number": room.last_number,
    }

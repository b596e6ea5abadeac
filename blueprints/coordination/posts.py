"""What is said in a room (contract 6.2)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from orjson import Fragment
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from blueprints import examples
from blueprints.bodies import RAW
from blueprints.calls import Call, Reply
from blueprints.coordination.blueprint import coordination
from blueprints.coordination.rooms import READERS, TAG, WRITERS, room_of
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, Query, QueryCursor, RawValue, digits
from blueprints.idempotency import once
from blueprints.raw_json import Raw
from blueprints.shapes import WireInstant
from extensions import house
from restante.coordination import posts
from restante.errors import (
    IdempotencyInFlight,
    IdempotencyKeyReused,
    InboxFull,
    PayloadTooLarge,
)
from restante.inbox.envelope import instant
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session


def _says_something(content: Raw) -> Raw:
    if type(content.value) not in (str, dict) or not content.value:
        raise PydanticCustomError("content", "Input should be a text or an object, and not empty")
    return content


Content = Annotated[
    RawValue,
    AfterValidator(_says_something),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "object", "minProperties": 1},
            ],
            "description": "A text, or an object; kept byte for byte.",
        }
    ),
]


class PostBody(Body):
    """What is said."""

    raw_members: ClassVar[frozenset[str]] = RAW | {"content"}

    content: Content


class Post(Answer):
    """Something said in a room."""

    post_id: str
    number: int = Field(description="Its place in the room: ascending.")
    author: str = Field(description="The agent's or service's id.")
    content: str | dict[str, Any]
    created_at: WireInstant


class Posts(Answer):
    """Posts in the order of their numbers."""

    posts: list[Post]
    has_more: bool


class PostsQuery(Query):
    """After which post. Asking says that all up to it is read."""

    after: Annotated[
        QueryCursor,
        Field(
            description="The number of a post; of a member it becomes its `read_number`, which never goes "
            "back. Beyond the room's last post it is refused."
        ),
    ] = 0
    limit: Annotated[
        int,
        Field(ge=1, le=1000, description="At most so many; 4 MiB end a page too."),
        BeforeValidator(digits),
    ] = 10


POST: dict[str, Any] = {
    "post_id": "post_0198c5b27c3d7e408f1a2b3c4d5e6f72",
    "number": 1,
    "author": examples.AGENT_ID,
    "content": "The build is green.",
    "created_at": examples.CREATED_AT,
}


@Endpoint(
    method="POST",
    access=WRITERS,
    tag=TAG,
    summary="Post in a room",
    description="Every member but the author gets an event of type `meeting_room_post` in the same "
    "transaction, with the payload `{type, room_id, post_id, author, content}`. "
    "A member that has lost the project is passed over.",
    body=PostBody,
    examples={"text": {"content": POST["content"]}, "object": {"content": {"build": "green"}}},
    answer=Post,
    answer_examples={"made": POST},
    status=201,
    problems=(IdempotencyKeyReused, IdempotencyInFlight, InboxFull, PayloadTooLarge),
    creates=True,
).route(coordination, "/rooms/<room_id>/posts")
def add_post(session: Session, call: Call) -> Reply:
    """Say it."""
    room_id, most = room_of(call), house().settings.payload_limit_bytes

    def create() -> int:
        content = call.body.content.text
        return posts.add_post(session, call.principal, room_id, content, most_bytes=most)

    def render(number: int) -> dict[str, Any]:
        return _shown(posts.read_post(session, room_id or b"", number))

    return once(session, call, create, render=render)


@Endpoint(
    method="GET",
    access=READERS,
    tag=TAG,
    summary="Read posts",
    description="Those with a greater number, ascending. They are kept for as long as events; numbers are "
    "never given again, so that a first one beyond the next says that older ones are gone. What a member "
    "gives as `after` it has read: others see it as its `read_number`.",
    query=PostsQuery,
    answer=Posts,
    answer_examples={"one": {"posts": [POST], "has_more": False}},
).route(coordination, "/rooms/<room_id>/posts")
def list_posts(session: Session, call: Call) -> Reply:
    """A page of them."""
    found, has_more = posts.list_posts(
        session,
        call.principal,
        room_of(call),
        after=call.query.after,
        limit=call.query.limit,
    )
    return Reply({"posts": list(map(_shown, found)), "has_more": has_more})


def _shown(post: posts.Post) -> dict[str, Any]:
    return {
        "post_id": encode_id(Prefix.POST, post.id),
        "number": post.number,
        "author": post.author,
        "content": Fragment(post.content),
        "created_at": instant(post.created_at),
    }

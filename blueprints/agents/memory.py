"""Memory: one key at a time, and what has changed since a revision (contract 5.8)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from blueprints import examples
from blueprints.access import any_of, own
from blueprints.agents.blueprint import agents, asked_projects
from blueprints.agents.read import QueryProjects
from blueprints.bodies import RAW
from blueprints.calls import NO_STORE, Call, Reply
from blueprints.conditions import expected
from blueprints.endpoint import Endpoint
from blueprints.fields import BIGGEST, Answer, Body, Query, QueryLimit, RawObject, RawValue, digits
from blueprints.shapes import WireInstant
from restante.coordination.changes import read_changes
from restante.coordination.entries import Entry, read_entry
from restante.coordination.memory import VALUE_BYTES, Delete, Merge, Put, Write, writable, write_one
from restante.coordination.memory_keys import check_key
from restante.errors import (
    CursorGone,
    InboxFull,
    NotFound,
    PayloadTooLarge,
    RecipientRefused,
    TooManyKeys,
    VersionConflict,
)
from restante.identity.scopes import TenantScope, Verb
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

WRITERS = any_of(Verb.MEMORY, TenantScope.MEMORY_WRITE)
REVALIDATED = {"Cache-Control": "private, no-cache"}
_KEY = "/memory/<project>/<key:key>"

Value = Annotated[
    RawValue,
    WithJsonSchema(
        {
            "description": f"Any JSON, null too; kept byte for byte, at most {VALUE_BYTES} bytes.",
        }
    ),
]


class PutBody(Body):
    """What the key is to be."""

    raw_members: ClassVar[frozenset[str]] = RAW | {"value"}

    value: Value


class MergeBody(Body):
    """What is to change in it."""

    raw_members: ClassVar[frozenset[str]] = RAW | {"merge"}

    merge: Annotated[
        RawObject,
        WithJsonSchema(
            {
                "type": "object",
                "description": "A JSON Merge Patch (RFC 7396): members set, null takes one away.",
            }
        ),
    ]


class NotifyQuery(Query):
    """Whether the agent is told of what it writes itself; of what others write it always is."""

    notify: Literal["true", "false"] = "false"


class ChangesQuery(Query):
    """Where to read on, how much, of what."""

    after_revision: Annotated[
        int | None,
        Field(
            ge=0,
            le=BIGGEST,
            description="The memory_revision of the page before, or of the state; left out: from the "
            "oldest kept.",
        ),
        BeforeValidator(digits),
    ] = None
    limit: QueryLimit = 10
    projects: QueryProjects = None


class MemoryEntry(Answer):
    """A key, and what it is. Of a deletion the value is null, and `deleted` true."""

    project: str
    key: str
    value: Any
    version: int = Field(
        description="The memory revision of its last write: no version of an agent's memory comes twice."
    )
    memory_revision: int
    updated_at: WireInstant
    deleted: bool


class MemoryChanges(Answer):
    """The keys that changed, each once, in the order of their last writes."""

    entries: list[MemoryEntry]
    memory_revision: int = Field(
        description="How far this looked, even where it found nothing: the next after_revision."
    )
    has_more: bool


ENTRY: dict[str, Any] = {
    "project": "main",
    "key": "repositories/acme",
    "value": {"default_branch": "main", "builds": 12},
    "version": 17,
    "memory_revision": 17,
    "updated_at": examples.CREATED_AT,
    "deleted": False,
}
TOMBSTONE: dict[str, Any] = {
    **ENTRY,
    "key": "repositories/gone",
    "value": None,
    "version": 18,
    "memory_revision": 18,
    "deleted": True,
}
_TELLS = (
    "Written by the agent itself, by another agent with `memory` for the project, or by a service with "
    "`tenant:memory:write`; whoever else writes it, the agent is told by an event of type `memory_update` "
    "in the same transaction."
)
_REFUSALS = (VersionConflict, RecipientRefused, PayloadTooLarge, TooManyKeys, InboxFull)


def _write(session: Session, call: Call, change: Put | Merge | Delete) -> Reply:
    project = writable(call.principal, call.path["project"])
    key = call.path["key"]
    check_key(key, "key")
    agent_id = decode_id(Prefix.AGENT, call.path["agent_id"])
    if agent_id is None:
        raise NotFound
    written = write_one(
        session,
        call.principal,
        agent_id,
        Write(project=project, key=key, change=change, expect=expected(call.request)),
        notify=call.query.notify == "true",
    )
    return _told(written, NO_STORE)


def _told(entry: Entry, headers: dict[str, str]) -> Reply:
    return Reply(entry.told(), 200, {"ETag": f'"{entry.version}"', **headers})


@Endpoint(
    method="PUT",
    access=WRITERS,
    tag="Memory",
    summary="Write a key of memory",
    description=f"Memory belongs to an agent and a project; at most 10,000 keys each. {_TELLS}",
    query=NotifyQuery,
    body=PutBody,
    examples={"object": {"value": ENTRY["value"]}, "null": {"value": None}},
    answer=MemoryEntry,
    answer_examples={"written": ENTRY},
    problems=_REFUSALS,
    conditional=True,
).route(agents, _KEY)
def put_memory(session: Session, call: Call) -> Reply:
    """Put."""
    return _write(session, call, Put(call.body.value.text))


@Endpoint(
    method="PATCH",
    access=WRITERS,
    tag="Memory",
    summary="Merge into a key of memory",
    description="Where there is no object under the key, the patch is merged into an empty one. Numbers "
    f"that the patch does not name keep their digits. {_TELLS}",
    query=NotifyQuery,
    body=MergeBody,
    examples={"one member": {"merge": {"builds": 12, "failing": None}}},
    answer=MemoryEntry,
    answer_examples={"written": ENTRY},
    problems=_REFUSALS,
    conditional=True,
).route(agents, _KEY)
def patch_memory(session: Session, call: Call) -> Reply:
    """Merge."""
    return _write(session, call, Merge(call.body.merge.text))


@Endpoint(
    method="DELETE",
    access=WRITERS,
    tag="Memory",
    summary="Delete a key of memory",
    description=f"A tombstone is kept for as long as events are. {_TELLS}",
    query=NotifyQuery,
    answer=MemoryEntry,
    answer_examples={"deleted": TOMBSTONE},
    problems=_REFUSALS,
    conditional=True,
).route(agents, _KEY)
def delete_memory(session: Session, call: Call) -> Reply:
    """Delete."""
    return _write(session, call, Delete())


@Endpoint(
    method="GET",
    access=own(Verb.READ),
    tag="Memory",
    summary="Read a key of memory",
    description="Its value, byte for byte, and its version, which is its ETag.",
    answer=MemoryEntry,
    answer_examples={"one": ENTRY},
    revalidates=True,
).route(agents, _KEY)
def get_memory(session: Session, call: Call) -> Reply:
    """One key."""
    entry = read_entry(session, call.principal, call.path["project"], call.path["key"])
    told = _told(entry, REVALIDATED)
    known = call.request.environ.get("HTTP_IF_NONE_MATCH", "")
    if told.headers["ETag"] in known or known.strip() == "*":
        return Reply(b"", 304, told.headers)
    return told


@Endpoint(
    method="GET",
    access=own(Verb.READ),
    tag="Memory",
    summary="What has changed in memory",
    description="The keys changed since a revision, deletions as tombstones with `value: null`. Where "
    "tombstones after the revision are no longer kept the answer is 410, as for a cursor: fetch the state.",
    query=ChangesQuery,
    answer=MemoryChanges,
    answer_examples={
        "two": {"entries": [ENTRY, TOMBSTONE], "memory_revision": 18, "has_more": False}
    },
    problems=(CursorGone,),
).route(agents, "/memory")
def list_memory(session: Session, call: Call) -> Reply:
    """Changes."""
    asked: ChangesQuery = call.query
    found = read_changes(
        session,
        call.principal,
        asked_projects(call.principal, Verb.READ, asked.projects),
        after_revision=asked.after_revision,
        limit=asked.limit,
    )
    return Reply(
        {
            "entries": [entry.told() for entry in found.entries],
            "memory_revision": found.revision,
            "has_more": found.has_more,
        }
    )

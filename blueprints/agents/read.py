"""Reading the inbox: pages after a cursor, one event, statistics; and committing through a cursor."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

from orjson import Fragment
from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from blueprints import examples
from blueprints.access import own
from blueprints.agents.blueprint import agents, asked_projects
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, Cursor, Epoch, Query, QueryCursor, QueryLimit, QueryWait
from blueprints.shapes import Event, LastError, WireInstant
from extensions import house
from restante.errors import CursorGone
from restante.identity.scopes import SLUG, Verb
from restante.inbox.browse import ReadRequest, read_event, read_page
from restante.inbox.commit import commit_through
from restante.inbox.stats import stats
from restante.storage.transaction import Session

REVALIDATED = {"Cache-Control": "private, no-cache"}


def _slugs(value: Any) -> list[str]:
    slugs: list[str] = value.split(",")
    if len(slugs) > 50 or not all(SLUG.fullmatch(slug) for slug in slugs):
        raise PydanticCustomError(
            "slugs", "Input should be at most 50 project slugs, with commas between"
        )
    return slugs


QueryProjects = Annotated[
    list[str] | None,
    BeforeValidator(_slugs),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^[A-Za-z0-9_-]{1,64}(,[A-Za-z0-9_-]{1,64}){0,49}$",
            "description": "Slugs with commas between; left out: all that are covered.",
        }
    ),
]


class PageQuery(Query):
    """Where to read on, how much, of what."""

    after_cursor: Annotated[
        QueryCursor | None,
        Field(description="The next_cursor of the page before; left out: the oldest kept."),
    ] = None
    limit: QueryLimit = 10
    projects: QueryProjects = None
    status: Annotated[
        Literal["open"] | None, Field(description="`open` leaves final events out.")
    ] = None
    wait_seconds: QueryWait = 0
    epoch: Epoch | None = None


class Page(Answer):
    """Events after the cursor, in the order of their commits."""

    events: list[Event]
    next_cursor: int = Field(description="How far this looked, even where it found nothing.")
    has_more: bool
    claimable: int
    epoch: str
    next_poll_ms: int


class CommitBody(Body):
    """How far everything is done."""

    through_cursor: Cursor
    epoch: Epoch | None = None


class Committed(Answer):
    """How many were completed; `has_more`: commit again."""

    completed: int
    has_more: bool


class Departure(Answer):
    """One entry of the timeline."""

    at: WireInstant
    kind: str
    generation: int
    consumer: str | None
    reason: str | None
    actor: str | None = None


class EventDetail(Event):
    """One event, with what became of it."""

    result: dict[str, Any] | None
    last_error: LastError | None
    failure_signature: str | None = Field(description="The same for failures of one kind.")
    superseded_by: str | None = Field(
        description="The event in which the work of this quarantined one went on."
    )
    timeline: list[Departure]


class Stats(Answer):
    """The inbox in numbers, of covered projects; `head`, `oldest_cursor` and `epoch` are the inbox's."""

    pending: int
    claimable: int
    scheduled: int
    claimed: int
    quarantined: int
    oldest_pending_age_seconds: float | None
    head: int
    oldest_cursor: int
    epoch: str
    streams: int
    last_seen_at: WireInstant | None
    capped: bool | None = None


@Endpoint(
    method="GET",
    access=own(Verb.READ),
    tag="Inbox",
    summary="Read the inbox after a cursor",
    description="Every event of the covered projects after the cursor, in any state. Reading changes no "
    "event.",
    query=PageQuery,
    answer=Page,
    answer_examples={
        "one": {
            "events": [examples.EVENT],
            "next_cursor": 1045,
            "has_more": False,
            "claimable": 1,
            "epoch": examples.EPOCH,
            "next_poll_ms": 968,
        }
    },
    problems=(CursorGone,),
    wait_seconds=lambda call: call.query.wait_seconds,
    revalidates=True,
    cloud_events=True,
).route(agents, "/inbox")
def read_inbox(session: Session, call: Call) -> Reply:
    """A page."""
    asked: PageQuery = call.query
    page = read_page(
        session,
        call.principal,
        ReadRequest(
            projects=asked_projects(call.principal, Verb.READ, asked.projects),
            limit=asked.limit,
            after_cursor=asked.after_cursor,
            open_only=asked.status == "open",
            epoch=asked.epoch,
        ),
    )
    house().notes.note(call.principal.id, read_cursor=page.next_cursor)
    tag = _tag(page.events, has_more=page.has_more, claimable=page.claimable)
    headers = {"ETag": f"W/{tag}", **REVALIDATED}
    # with more behind what it looked through the reader has to go on, not to wait
    empty = not (page.events or page.claimable or page.has_more)
    known = call.request.environ.get("HTTP_IF_NONE_MATCH", "")
    if tag in known or known == "*":
        return Reply(b"", 304, headers, empty=empty)
    content = {
        "events": [Fragment(event) for event in page.events],
        "next_cursor": page.next_cursor,
        "has_more": page.has_more,
        "claimable": page.claimable,
        "epoch": page.epoch,
        "next_poll_ms": page.next_poll_ms,
    }
    return Reply(content, 200, headers, empty=empty)


def _tag(events: list[bytes], *, has_more: bool, claimable: int) -> str:
    digest = hashlib.blake2b(b"\n".join(events), digest_size=16)
    digest.update(b"%d %d" % (has_more, claimable))
    return f'"{digest.hexdigest()}"'


@Endpoint(
    method="POST",
    access=own(Verb.CLAIM),
    tag="Inbox",
    summary="Commit through a cursor",
    description="Completes, in order, at most 1,000 pending events at or below the cursor that were never "
    "claimed: how a reader that only follows the log acknowledges.",
    body=CommitBody,
    examples={"plain": {"through_cursor": 1045, "epoch": examples.EPOCH}},
    answer=Committed,
    answer_examples={"all": {"completed": 12, "has_more": False}},
    problems=(CursorGone,),
).route(agents, "/inbox/commit")
def commit_inbox(session: Session, call: Call) -> Reply:
    """Commit."""
    completed, has_more = commit_through(
        session, call.principal, call.body.through_cursor, call.body.epoch
    )
    return Reply({"completed": completed, "has_more": has_more})


@Endpoint(
    method="GET",
    access=own(Verb.READ),
    tag="Inbox",
    summary="Read the statistics of the inbox",
    description="Counts are exact up to 10,000; beyond it 10,000 with `capped`.",
    answer=Stats,
    answer_examples={
        "busy": {
            "pending": 12,
            "claimable": 9,
            "scheduled": 1,
            "claimed": 2,
            "quarantined": 0,
            "oldest_pending_age_seconds": 3.25,
            "head": 1045,
            "oldest_cursor": 0,
            "epoch": examples.EPOCH,
            "streams": 1,
            "last_seen_at": examples.CREATED_AT,
        }
    },
).route(agents, "/inbox/stats")
def read_stats(session: Session, call: Call) -> Reply:
    """Statistics."""
    return Reply(stats(session, call.principal))


@Endpoint(
    method="GET",
    access=own(Verb.READ),
    tag="Inbox",
    summary="Read one event",
    description="The event with its result, its last failure and what departed from the plain path.",
    answer=EventDetail,
    answer_examples={
        "released once": {
            **examples.EVENT,
            "result": None,
            "last_error": None,
            "failure_signature": None,
            "superseded_by": None,
            "timeline": [
                {
                    "at": examples.CREATED_AT,
                    "kind": "released",
                    "generation": 1,
                    "consumer": "laptop-a",
                    "reason": None,
                }
            ],
        }
    },
    cloud_events=True,
).route(agents, "/inbox/<event:event_id>")
def read_one(session: Session, call: Call) -> Reply:
    """One event."""
    return Reply(read_event(session, call.principal, call.event_id()))

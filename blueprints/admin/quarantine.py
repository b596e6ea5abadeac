"""Quarantine: what lies there, event by event and by kinds of failure."""

from __future__ import annotations

from typing import Annotated, Any

from orjson import Fragment
from pydantic import BaseModel, Field

from blueprints import examples
from blueprints.admin.blueprint import admin, administrator, having
from blueprints.admin.jobs import TAG
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, IdText, Instant, ListQuery, Slug
from blueprints.shapes import Event, LastError, WireInstant
from restante.errors import (
    PageTokenInvalid,
)
from restante.identity.principal import Principal
from restante.identity.roles import Right
from restante.inbox.envelope import instant
from restante.inbox.triage.causes import Group, list_groups
from restante.inbox.triage.listing import COUNTED, list_quarantined
from restante.inbox.triage.selection import Filter
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.transaction import Session

NOTHING = bytes(16)


class Narrowing(BaseModel):
    """What is meant of a quarantine; all that is given holds."""

    failure_signature: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")] | None = None
    recipient_id: IdText | None = None
    project: Slug | None = None
    code: Annotated[str, Field(min_length=1, max_length=128)] | None = Field(
        None, description="`last_error.code`."
    )
    quarantine_reason: Annotated[str, Field(max_length=32)] | None = Field(
        None, description="`attempts_exhausted`, `release_loop` or `rejected`."
    )
    since: Instant | None = Field(None, description="Quarantined then or later.")
    until: Instant | None = Field(None, description="Quarantined before then.")

    def filter(self, principal: Principal) -> Filter:
        """For the engine. What is not there has nothing in quarantine."""
        project_id = None
        if self.project is not None:
            project = principal.projects.get(self.project)
            project_id = NOTHING if project is None else project.id
        recipient_id = None
        if self.recipient_id is not None:
            recipient_id = decode_id(Prefix.AGENT, self.recipient_id) or NOTHING
        return Filter(
            failure_signature=self.failure_signature,
            recipient_id=recipient_id,
            project_id=project_id,
            code=self.code,
            quarantine_reason=self.quarantine_reason,
            since=self.since,
            until=self.until,
        )


class QuarantineQuery(Narrowing, ListQuery):
    """Which events; all that is given holds."""


class QuarantinedEvent(Event):
    """A quarantined event with its payload, whose it is and how it failed."""

    recipient_id: str
    quarantined_at: WireInstant
    last_error: LastError
    failure_signature: str


class FailureGroup(Answer):
    """Events that failed alike: same type, code and message, but for numbers and quoted values."""

    failure_signature: str
    count: int
    capped: bool = Field(description="There are more than the 10,000 counted.")
    first_quarantined_at: WireInstant
    last_quarantined_at: WireInstant
    type: str
    code: str
    message: str = Field(description="Of the latest.")
    sample_event_id: str


class Quarantine(Answer):
    """A page of events, the latest in quarantine first, and with the first page the kinds of failure."""

    events: list[QuarantinedEvent]
    groups: list[FailureGroup] = Field(
        description="The most frequent first, at most 100; empty on later pages."
    )
    next_page_token: str | None


GROUP: dict[str, Any] = {
    "failure_signature": "5f0c6b1f2f6a4a0f9d1d7a3c4b5e6f70",
    "count": 4771,
    "capped": False,
    "first_quarantined_at": examples.CREATED_AT,
    "last_quarantined_at": examples.LATER,
    "type": "build.finished",
    "code": "E_SCHEMA",
    "message": 'missing field "currency"',
    "sample_event_id": examples.EVENT_ID,
}
QUARANTINED: dict[str, Any] = {
    **examples.EVENT,
    "status": "quarantined",
    "attempts": 5,
    "recipient_id": examples.AGENT_ID,
    "quarantined_at": examples.LATER,
    "last_error": {
        "code": "E_SCHEMA",
        "message": 'missing field "currency"',
        "outcome": "none",
        "at": examples.LATER,
        "attempt": 5,
        "quarantine_reason": "attempts_exhausted",
    },
    "failure_signature": GROUP["failure_signature"],
}


@Endpoint(
    method="GET",
    access=having(Right.QUARANTINE_READ),
    tag=TAG,
    summary="List quarantined events",
    description="Of the whole tenant, with their payloads; and which kinds of failure there are.",
    query=QuarantineQuery,
    answer=Quarantine,
    answer_examples={
        "one": {"events": [QUARANTINED], "groups": [GROUP], "next_page_token": None},
    },
    problems=(PageTokenInvalid,),
).route(admin, "/quarantine")
def read_quarantine(session: Session, call: Call) -> Reply:
    """A page of it."""
    asked: QuarantineQuery = call.query
    who, chosen = administrator(call), asked.filter(call.principal)
    events, token = list_quarantined(
        session, who, chosen, limit=asked.limit, token=asked.page_token
    )
    groups = [] if asked.page_token is not None else list_groups(session, who, chosen)
    return Reply(
        {
            "events": list(map(Fragment, events)),
            "groups": list(map(_shown_group, groups)),
            "next_page_token": token,
        }
    )


def _shown_group(group: Group) -> dict[str, Any]:
    return {
        "failure_signature": group.failure_signature,
        "count": min(group.count, COUNTED),
        "capped": group.capped,
        "first_quarantined_at": instant(group.first_at),
        "last_quarantined_at": instant(group.last_at),
        "type": group.type,
        "code": group.code,
        "message": group.message,
        "sample_event_id": encode_id(Prefix.EVENT, group.sample_id),
    }

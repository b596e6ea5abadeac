"""The audit of the tenant."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from blueprints import examples
from blueprints.admin.blueprint import admin, administrator, having
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Instant, ListQuery
from blueprints.shapes import WireInstant
from restante.audit.actions import Action
from restante.audit.listing import Recorded, list_entries
from restante.errors import PageTokenInvalid
from restante.identity.roles import Right
from restante.inbox.envelope import instant
from restante.storage.transaction import Session

_ACTIONS = [action.value for action in Action]


def _known(text: str) -> str:
    if text not in _ACTIONS:
        raise PydanticCustomError(
            "action", "must be an action, as entries name it; for instance agent.create"
        )
    return text


class AuditQuery(ListQuery):
    """Which entries."""

    action: (
        Annotated[str, AfterValidator(_known), WithJsonSchema({"type": "string", "enum": _ACTIONS})]
        | None
    ) = Field(default=None, description="What was done.")
    actor: Annotated[str, Field(min_length=1, max_length=190)] | None = Field(
        default=None, description="Who did it: an id, as entries have it."
    )
    target: Annotated[str, Field(min_length=1, max_length=190)] | None = Field(
        default=None, description="What it was done to: an id, as entries have it."
    )
    since: Instant | None = None
    until: Instant | None = None


class Actor(Answer):
    """Who did it. `client`: who said so and did not prove it."""

    kind: Literal["agent", "service", "operator", "client", "command", "server", "application"]
    id: str | None


class AuditEntry(Answer):
    """Something that was done, or refused."""

    entry_id: str
    at: WireInstant
    actor: Actor
    action: str
    target: str | None
    outcome: Literal["done", "refused", "failed"]
    reason: str | None
    address: str | None
    request_id: str | None


class AuditEntries(Answer):
    """A page of entries, newest first."""

    entries: list[AuditEntry]
    next_page_token: str | None


_ENTRY: dict[str, Any] = {
    "entry_id": "aud_0198c5a1f3f07d1aa7b9cbddef03f56a",
    "at": examples.CREATED_AT,
    "actor": {"kind": "service", "id": examples.SERVICE_ID},
    "action": "project.create",
    "target": "prj_0198c5a1f3dc7a19a1b3c5d7e9f01235",
    "outcome": "done",
    "reason": "main",
    "address": "192.0.2.7",
    "request_id": "5b0f4f0a8d2e4f8d9a3f0c6b7e1d2c3a",
}


@Endpoint(
    method="GET",
    access=having(Right.AUDIT_READ),
    tag="Administration",
    summary="Read the audit",
    description="Who did what to what, why, from where and by which request; the newest first. Entries are "
    "never changed, so that a page token goes on where its page ended, whatever is added meanwhile. "
    "`since` takes that instant in, `until` does not.",
    query=AuditQuery,
    answer=AuditEntries,
    answer_examples={"one": {"entries": [_ENTRY], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(admin, "/audit")
def read_audit(session: Session, call: Call) -> Reply:
    """A page of it."""
    asked: AuditQuery = call.query
    who = administrator(call)
    who.require(Right.AUDIT_READ)
    page = list_entries(
        session,
        who.tenant_id,
        limit=asked.limit,
        token=asked.page_token,
        action=None if asked.action is None else Action(asked.action),
        actor=asked.actor,
        target=asked.target,
        since=asked.since,
        until=asked.until,
    )
    entries = [_shown(entry) for entry in page.entries]
    return Reply({"entries": entries, "next_page_token": page.next_page_token})


def _shown(entry: Recorded) -> dict[str, Any]:
    return {
        "entry_id": entry.entry_id,
        "at": instant(entry.at),
        "actor": {"kind": entry.actor_kind, "id": entry.actor_id},
        "action": entry.action,
        "target": entry.target,
        "outcome": entry.outcome,
        "reason": entry.reason,
        "address": entry.address,
        "request_id": entry.request_id,
    }

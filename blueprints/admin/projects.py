"""The projects of the tenant."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from blueprints.admin.blueprint import admin, administrator, having
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body, IdText, ListQuery, Slug, integral
from blueprints.idempotency import once
from blueprints.shapes import WireInstant
from restante.errors import (
    IdempotencyInFlight,
    IdempotencyKeyReused,
    PageTokenInvalid,
    RecipientRefused,
)
from restante.identity.project_settings import (
    MOST_UNREAD_SECONDS,
    OPERATORS,
    ProjectSettings,
    add_project,
    change_project,
    list_projects,
    read_project,
)
from restante.identity.roles import Right
from restante.inbox.envelope import instant
from restante.storage.transaction import Session

TAG = "Administration"
_OnQuarantine = Literal["skip", "hold"]


class ProjectBody(Body):
    """How it is called, for good: scopes are written for it."""

    slug: Slug


class ProjectChange(Body):
    """Those named are set, the others stay. `unread_after_seconds` that is null: for however long."""

    on_quarantine: _OnQuarantine = "skip"
    unread_after_seconds: (
        Annotated[int, Field(ge=1, le=MOST_UNREAD_SECONDS), BeforeValidator(integral)] | None
    ) = None
    unread_escalate_to: IdText = OPERATORS


class Project(Answer):
    """A project of the tenant."""

    project_id: str
    slug: str
    on_quarantine: _OnQuarantine
    unread_after_seconds: int | None
    unread_escalate_to: str
    created_at: WireInstant


class Projects(Answer):
    """A page of projects, by slug."""

    projects: list[Project]
    next_page_token: str | None


PROJECT: dict[str, Any] = {
    "project_id": "prj_0198c5a1f3dc7a19a1b3c5d7e9f01235",
    "slug": "main",
    "on_quarantine": "skip",
    "unread_after_seconds": None,
    "unread_escalate_to": OPERATORS,
    "created_at": "2031-05-01T09:30:00.125000Z",
}


@Endpoint(
    method="POST",
    access=having(Right.AGENTS_WRITE),
    tag=TAG,
    summary="Create a project",
    description="Its slug stays; scopes are written for it. What is granted for `*` covers it from now on, "
    "in tokens that are issued from now on. A slug that the tenant has is 422.",
    body=ProjectBody,
    examples={"plain": {"slug": "main"}},
    answer=Project,
    answer_examples={"made": PROJECT},
    status=201,
    problems=(IdempotencyKeyReused, IdempotencyInFlight),
    creates=True,
).route(admin, "/projects")
def create_project(session: Session, call: Call) -> Reply:
    """A new one."""
    who = administrator(call)
    return once(
        session,
        call,
        lambda: add_project(session, who, call.body.slug).slug,
        render=lambda slug: shown(read_project(session, who, slug)),
    )


@Endpoint(
    method="GET",
    access=having(Right.AGENTS_READ),
    tag=TAG,
    summary="List projects",
    description="The projects of the tenant, by slug.",
    query=ListQuery,
    answer=Projects,
    answer_examples={"one": {"projects": [PROJECT], "next_page_token": None}},
    problems=(PageTokenInvalid,),
).route(admin, "/projects")
def list_all_projects(session: Session, call: Call) -> Reply:
    """A page of them."""
    asked: ListQuery = call.query
    page = list_projects(session, administrator(call), limit=asked.limit, token=asked.page_token)
    return Reply(
        {"projects": list(map(shown, page.projects)), "next_page_token": page.next_page_token}
    )


@Endpoint(
    method="PATCH",
    access=having(Right.AGENTS_WRITE),
    tag=TAG,
    summary="Change a project",
    description="`on_quarantine` says what an event that goes into quarantine from now on does to those that "
    "wait behind it under its ordering key: `skip`, the next of them can be claimed; `hold`, they wait until "
    "it is redriven or discarded. A key that is held already stays held until then.\n\n"
    "An event that is pending, was never claimed and not read for `unread_after_seconds` is told, once, to "
    "`unread_escalate_to`: an agent that has the project gets an event `unread_escalation` that names it, "
    "for `operators` it is noted, for 30 days. So it is for them where that agent does not read its own "
    "mail either, is removed, or has lost the project.",
    body=ProjectChange,
    examples={
        "hold": {"on_quarantine": "hold"},
        "to the operators": {"unread_after_seconds": 3600, "unread_escalate_to": OPERATORS},
        "to an agent": {
            "unread_after_seconds": 900,
            "unread_escalate_to": "agt_0198c5a1f3dc7a19a1b3c5d7e9f01234",
        },
        "no more": {"unread_after_seconds": None},
    },
    answer=Project,
    answer_examples={"changed": {**PROJECT, "on_quarantine": "hold"}},
    problems=(RecipientRefused,),
).route(admin, "/projects/<slug>")
def change_one_project(session: Session, call: Call) -> Reply:
    """Set it."""
    body: ProjectChange = call.body
    changes = {name: getattr(body, name) for name in body.model_fields_set}
    changed = change_project(session, administrator(call), call.path["slug"], changes)
    return Reply(shown(changed))


def shown(project: ProjectSettings) -> dict[str, Any]:
    """As it is answered."""
    return {
        "project_id": project.public_id,
        "slug": project.slug,
        "on_quarantine": project.on_quarantine,
        "unread_after_seconds": project.unread_after_seconds,
        "unread_escalate_to": project.unread_escalate_to,
        "created_at": instant(project.created_at),
    }

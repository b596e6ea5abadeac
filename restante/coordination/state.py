"""State: what an agent begins with, or goes on from after a 410 (contract 5.9). Changes no event.

Page 1 fixes where the agent stands; its memory follows page by page, each a transaction of its own.
Nothing is stored between them: a later page may be newer, and the agent keeps the higher version of
a key. What was written or deleted since page 1 it reads after page 1's revision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from restante.coordination.assignments import open_assignments
from restante.coordination.changes import memory_at, page
from restante.coordination.entries import Entry
from restante.identity.principal import Principal
from restante.identity.scopes import Verb
from restante.inbox.browse import seen
from restante.inbox.envelope import instant
from restante.storage import page_token
from restante.storage.ids import Prefix, encode_id


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """A page of it. `assignments`: the open ones, on page 1; later None."""

    cursor: int
    epoch: str
    memory_revision: int
    claimable: int
    assignments: list[dict[str, Any]] | None
    memory: list[Entry]
    next_page_token: str | None


def read_state(session: Session, agent: Principal, *, limit: int, token: str | None) -> State:
    """A page of the agent's state, over the projects covered for read. Raises PageTokenInvalid."""
    projects = agent.require_any(Verb.READ)
    of = ("state", agent.public_id)
    place = page_token.take(session, of, token)
    assignments = None
    if place is None:
        # the cursor before the memory: what events up to it tell of is in the memory that follows
        first = seen(session, agent, projects)
        claimable = 0 if first.paused else first.claimable()
        revision = memory_at(session, agent.id).revision
        place = [first.head, first.epoch.hex(), revision, claimable, 0]
        assignments = _open(session, agent)
    cursor, epoch, revision, claimable, after = place
    found = page(
        session,
        agent.id,
        projects,
        memory_at(session, agent.id),
        after=after,
        limit=limit,
        live=True,
    )
    next_place = [cursor, epoch, revision, claimable, found.revision]
    return State(
        cursor=cursor,
        epoch=epoch,
        memory_revision=revision,
        claimable=claimable,
        assignments=assignments,
        memory=found.entries,
        next_page_token=page_token.give(session, of, next_place) if found.has_more else None,
    )


def _open(session: Session, agent: Principal) -> list[dict[str, Any]]:
    """The assignments it has and has not completed."""
    slugs = {project.id: project.slug for project in agent.covered(Verb.READ)}
    return [
        {
            "assignment_id": encode_id(Prefix.ASSIGNMENT, row.assignment_id),
            "project": slugs[row.project_id],
            "event_id": encode_id(Prefix.EVENT, row.event_id),
            "created_at": instant(row.created_at),
            "deadline_at": instant(row.deadline_at),
        }
        for row in open_assignments(session, agent)
    ]

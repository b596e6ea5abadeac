"""State: the baseline at first start and after a 410 (contract 5.9)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from blueprints import examples
from blueprints.access import own
from blueprints.agents.blueprint import agents
from blueprints.agents.memory import ENTRY, MemoryEntry
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, PageToken, Query, digits
from blueprints.gzipped import GzippedReply, takes_gzip
from restante.coordination.state import read_state
from restante.errors import PageTokenInvalid
from restante.identity.scopes import Verb
from restante.storage.transaction import Session


class StateQuery(Query):
    """Which page."""

    limit: Annotated[
        int,
        Field(ge=1, le=1000, description="At most so many keys; 4 MiB of values end a page too."),
        BeforeValidator(digits),
    ] = 1000
    page_token: PageToken | None = None


class AgentState(Answer):
    """Where the agent stands, as page 1 has fixed it, and a page of what it remembers."""

    cursor: int = Field(description="Read on after it; what is unsettled up to it is got by claim.")
    epoch: str
    memory_revision: int = Field(
        description="After the last page read the memory's changes after this revision."
    )
    claimable: int
    assignments: list[dict[str, Any]] | None = Field(
        default=None, description="The open ones; on page 1 alone."
    )
    memory: list[MemoryEntry] = Field(
        description="Keep, per key, the higher version; a key that no page has and that changed at or "
        "below memory_revision is gone."
    )
    next_page_token: str | None


_FIXED = {"cursor": 1045, "epoch": examples.EPOCH, "memory_revision": 18, "claimable": 3}


@Endpoint(
    method="GET",
    access=own(Verb.READ),
    tag="Inbox",
    summary="Read the agent's state",
    description="Where to begin at first start, and to go on from after a 410: keep the cursor and the "
    "epoch, take the memory of all pages, read its changes after `memory_revision`, then claim. Nothing is "
    "held for it between pages. Compressed for those who take gzip.",
    query=StateQuery,
    answer=AgentState,
    answer_examples={
        "the only page": {
            **_FIXED,
            "assignments": [],
            "memory": [ENTRY],
            "next_page_token": None,
        },
        "a later page": {**_FIXED, "memory": [ENTRY], "next_page_token": "q83vEjRWeJCrze8SNFZ4kA"},
    },
    problems=(PageTokenInvalid,),
).route(agents, "/state")
def get_state(session: Session, call: Call) -> Reply:
    """A page."""
    asked: StateQuery = call.query
    found = read_state(session, call.principal, limit=asked.limit, token=asked.page_token)
    told: dict[str, Any] = {
        "cursor": found.cursor,
        "epoch": found.epoch,
        "memory_revision": found.memory_revision,
        "claimable": found.claimable,
        "memory": [entry.told() for entry in found.memory],
        "next_page_token": found.next_page_token,
    }
    if found.assignments is not None:
        told["assignments"] = found.assignments
    return GzippedReply(told, zips=takes_gzip(call.request))

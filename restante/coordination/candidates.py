"""Who could do a piece of work: agents that have the project and the capability, and how they are.

An agent is judged by what it did (a stream, a poll, a claim), not by a socket. One that is away is a
candidate like any other, after those that are there: its mail is kept.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.identity.scopes import Verb
from restante.inbox.arriving import arriving
from restante.inbox.place import lock_inboxes
from restante.inbox.reachability import reach_many
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import granted_scope, principal
from restante.storage.tables.inboxes import presence

CONSIDERED = 50
"""Candidates of one decision: those seen last, where there are more."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """An agent as one decision saw it. `why`: what speaks against it; None: nothing.

    `able`: it could be given the work all the same, by one who decides so.
    """

    agent_id: bytes
    presence: str
    pending: int
    why: str | None = None
    able: bool = True

    @property
    def eligible(self) -> bool:
        """Whether it may be chosen."""
        return self.why is None

    @property
    def load(self) -> tuple[bool, int]:
        """Who is there comes before who is away, and who has little before who has much."""
        return self.presence == "away", self.pending

    def told(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "agent_id": encode_id(Prefix.AGENT, self.agent_id),
            "presence": self.presence,
            "pending": self.pending,
            "eligible": self.eligible,
            "why": self.why,
        }


def find_candidates(
    session: Session,
    tenant_id: bytes,
    slug: str,
    *,
    capability: str | None,
    named: Sequence[bytes] | None,
    tried: Collection[bytes],
    locking: bool = False,
) -> list[Candidate]:
    """Agents that could do it, in the order named, or those seen last first.

    Named ones that could not are told with why. An agent that is not named, and does not fit, is none.
    `locking`: hold their inbox rows, so that whoever chooses among them at once sees what comes of
    this; before any lock that comes after those of inboxes.
    """
    rows = _rows(session, tenant_id, slug, named)
    wanted = named if named is not None else _seen_last_first(rows, capability, tried)
    wanted = wanted[:CONSIDERED]
    there = [agent_id for agent_id in wanted if agent_id in rows]
    if locking and there:
        lock_inboxes(session, there)
    reached, coming = reach_many(session, there), arriving(session)
    found = []
    for agent_id in wanted:
        row = rows.get(agent_id)
        if row is None:
            found.append(Candidate(agent_id, "away", 0, "has no such project", able=False))
            continue
        # what comes of other ends of this transaction is not written yet
        pending = reached[agent_id]["pending"] + coming[agent_id]
        full = row.max_pending is not None and pending >= row.max_pending
        why = _against(row, capability, full=full)
        if agent_id in tried:
            why = "had it before"
        able = row.status == "active" and not full
        found.append(Candidate(agent_id, reached[agent_id]["mode"], pending, why, able))
    return found


def _rows(
    session: Session, tenant_id: bytes, slug: str, named: Sequence[bytes] | None
) -> dict[bytes, Any]:
    """Agents of the tenant that may claim in the project, by id."""
    enough = [f"agent:{s}:{Verb.CLAIM}" for s in (slug, "*")]
    query = (
        select(
            principal.c.principal_id,
            principal.c.status,
            principal.c.paused,
            principal.c.capabilities,
            principal.c.max_pending,
            presence.c.last_seen_at,
        )
        .join(granted_scope, granted_scope.c.principal_id == principal.c.principal_id)
        .outerjoin(presence, presence.c.recipient_id == principal.c.principal_id)
        .where(
            principal.c.tenant_id == tenant_id,
            principal.c.kind == "agent",
            principal.c.status != "removed",
            granted_scope.c.scope.in_(enough),
        )
    )
    if named is not None:
        query = query.where(principal.c.principal_id.in_(sorted(set(named))))
    return {row.principal_id: row for row in session.connection().execute(query)}


def _seen_last_first(
    rows: dict[bytes, Any], capability: str | None, tried: Collection[bytes]
) -> list[bytes]:
    fits = [r for r in rows.values() if _capable(r, capability) and r.status == "active"]
    fits.sort(key=lambda r: r.principal_id)
    fits.sort(key=lambda r: str(r.last_seen_at or ""), reverse=True)
    fits.sort(key=lambda r: r.principal_id in tried)
    return [row.principal_id for row in fits]


def _against(row: Any, capability: str | None, *, full: bool) -> str | None:
    if row.status != "active":
        return "is disabled"
    if not _capable(row, capability):
        return f"has not the capability {capability}"
    if row.paused:
        return "is paused"
    if full:
        return "has a full inbox"
    return None


def _capable(row: Any, capability: str | None) -> bool:
    return capability is None or capability in json.loads(row.capabilities or "[]")

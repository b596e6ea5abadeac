"""What a change of grants would do: which leases fail, what nobody can claim any more, who may do what."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.grant_changes import Change
from restante.identity.grant_list import EVERY, count_reachable
from restante.identity.grants import grants_of
from restante.identity.machine_list import Machine, MachineStatus, find_machine
from restante.identity.principal import PrincipalKind, Project
from restante.identity.projects import projects_of
from restante.identity.roles import Right
from restante.identity.scopes import ProjectScope, Scope, Verb
from restante.inbox.lifecycle import PENDING_GATES, Gate
from restante.inbox.polling import STREAM_ALIVE
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.callbacks import callback
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.signals import node, open_stream

LEASES = 10
COUNTED = 10_000
AGENTS = 1_000
Covered = Mapping[str, frozenset[Verb]]
"""The verbs that an agent has, by project, `*` taken for all there are."""


@dataclass(frozen=True, slots=True)
class Lease:
    """One that will fail."""

    event_id: str
    project: str
    sequence_number: int
    consumer: str
    ends_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """Of the changes of one agent. Numbers stop at COUNTED + 1, `reaches` at AGENTS + 1.

    `unfit`: changes that do not fit what is granted now. `lost`, `gained`: verbs by project, as they
    are after `*` is looked at. `stuck`: pending events by project that nobody can claim any more;
    `claimable`: those that it can claim from now on. `reads`: projects that it still reads.
    """

    agent: Machine
    changes: Sequence[Change]
    unfit: Sequence[Change]
    lost: Covered
    gained: Covered
    leases: Sequence[Lease]
    more_leases: bool
    stuck: Mapping[str, int]
    claimable: Mapping[str, int]
    reaches: Mapping[str, int]
    streams: int
    reads: Sequence[str]
    webhooks: int


def covered(grants: Iterable[Scope], slugs: Collection[str]) -> dict[str, frozenset[Verb]]:
    """What grants come to in each of the projects."""
    of = {(scope.project, scope.verb) for scope in grants if isinstance(scope, ProjectScope)}
    return {
        slug: frozenset(verb for verb in Verb if {(slug, verb), (EVERY, verb)} & of)
        for slug in slugs
    }


def effects_of(session: Session, who: Administrator, changes: Sequence[Change]) -> list[Effects]:
    """By agent, in the order of their names. NotFound where one is not there, or is removed.

    Also raises what `Administrator.require` does.
    """
    who.require(Right.GRANTS_READ, Right.AGENTS_READ)
    projects = projects_of(session, who.tenant_id)
    found = []
    for public_id in sorted({change.agent for change in changes}):
        agent = find_machine(session, who.tenant_id, PrincipalKind.AGENT, public_id)
        if agent.status is MachineStatus.REMOVED:
            raise NotFound
        own = sorted((one for one in changes if one.agent == public_id), key=_place)
        found.append(_effects(session, agent, own, projects, who.tenant_id))
    return sorted(found, key=lambda one: one.agent.name)


def _place(change: Change) -> tuple[str, int]:
    return change.project, list(Verb).index(change.scope.verb)


def _effects(
    session: Session,
    agent: Machine,
    changes: Sequence[Change],
    projects: Mapping[str, Project],
    tenant_id: bytes,
) -> Effects:
    held = grants_of(session, agent.id)
    given = {one.scope for one in changes if one.given}
    taken = {one.scope for one in changes if not one.given}
    before, after = covered(held, projects), covered(held - taken | given, projects)
    lost = {slug: before[slug] - after[slug] for slug in projects}
    gained = {slug: after[slug] - before[slug] for slug in projects}
    unclaimed = [slug for slug in projects if Verb.CLAIM in lost[slug]]
    leases = _leases(session, agent.id, {projects[slug].id: slug for slug in unclaimed})
    stopped = [slug for slug in projects if lost[slug] & {Verb.CLAIM, Verb.CALLBACK, Verb.READ}]
    return Effects(
        agent=agent,
        changes=changes,
        unfit=[one for one in changes if (one.scope in held) is one.given],
        lost={slug: verbs for slug, verbs in lost.items() if verbs},
        gained={slug: verbs for slug, verbs in gained.items() if verbs},
        leases=leases[:LEASES],
        more_leases=len(leases) > LEASES,
        stuck=_pending(session, agent.id, [projects[slug] for slug in unclaimed]),
        claimable=_pending(
            session, agent.id, [projects[s] for s in projects if Verb.CLAIM in gained[s]]
        ),
        reaches={
            slug: count_reachable(session, tenant_id, slug, but=agent.id, most=AGENTS)
            for slug in projects
            if Verb.PUBLISH in gained[slug]
        },
        streams=_streams(session, agent.id) if any(Verb.READ in lost[s] for s in projects) else 0,
        reads=[slug for slug in projects if Verb.READ in after[slug]],
        webhooks=_webhooks(session, agent.id) if stopped else 0,
    )


def _leases(session: Session, agent_id: bytes, slugs: Mapping[bytes, str]) -> list[Lease]:
    if not slugs:
        return []
    rows = session.connection().execute(
        select(agent_inbox)
        .where(
            agent_inbox.c.recipient_id == agent_id,
            agent_inbox.c.project_id.in_(sorted(slugs)),
            agent_inbox.c.gate == Gate.CLAIMED.value,
            agent_inbox.c.claim_expires_at > database_now(session),
        )
        .limit(LEASES + 1)
    )
    return [
        Lease(
            event_id=encode_id(Prefix.EVENT, row.event_id),
            project=slugs[row.project_id],
            sequence_number=row.sequence_number,
            consumer=row.consumer,
            ends_at=row.claim_expires_at,
        )
        for row in rows
    ]


def _pending(session: Session, agent_id: bytes, projects: Sequence[Project]) -> dict[str, int]:
    """Those that have any."""
    counts = {}
    for project in projects:
        rows = (
            select(agent_inbox.c.sequence_number)
            .with_hint(agent_inbox, "FORCE INDEX (claim)", "mysql")
            .where(
                agent_inbox.c.recipient_id == agent_id,
                agent_inbox.c.project_id == project.id,
                agent_inbox.c.gate.in_([gate.value for gate in PENDING_GATES]),
            )
            .limit(COUNTED + 1)
            .subquery()
        )
        counted = session.connection().execute(select(func.count()).select_from(rows))
        counts[project.slug] = int(counted.scalar_one())
    return {slug: number for slug, number in counts.items() if number}


def _streams(session: Session, agent_id: bytes) -> int:
    alive = node.c.seen_at > database_now(session) - STREAM_ALIVE
    query = (
        select(func.count())
        .select_from(open_stream)
        .join(node, node.c.node_id == open_stream.c.node_id)
        .where(open_stream.c.recipient_id == agent_id, alive)
    )
    return int(session.connection().execute(query).scalar_one())


def _webhooks(session: Session, agent_id: bytes) -> int:
    """Active ones: an agent has few."""
    active = (callback.c.agent_id == agent_id, callback.c.status == "active")
    query = select(func.count()).select_from(callback).where(*active)
    return int(session.connection().execute(query).scalar_one())

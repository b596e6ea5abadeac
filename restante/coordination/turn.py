"""A turn: settle, write memory and publish in one transaction, all of it or nothing (contract 5.7).

What is refused is told part by part; the caller rolls back. Lock order: the inbox rows of all
recipients, then what settle locks, then what publish writes, memory last. That publish comes before
memory here, and not after it as a turn says it, nobody can see: they are there together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TypeVar

from sqlalchemy.orm import Session

from restante.coordination.entries import Entry
from restante.coordination.memory import Write, write_many
from restante.errors import (
    InsufficientScope,
    PayloadTooLarge,
    RecipientRefused,
    RestanteError,
    TurnConflict,
)
from restante.identity.principal import Principal
from restante.identity.scopes import Verb
from restante.inbox.orders import Ack, Answer, Order, Reject, Release
from restante.inbox.place import lock_inboxes
from restante.inbox.publication import Publication, Published, numbered
from restante.inbox.publish import publish, write
from restante.inbox.recipients import check_recipients
from restante.inbox.settle import settle_many
from restante.storage.ids import Prefix, encode_id

T = TypeVar("T")
Refused = list[tuple[str, int, RestanteError]]
"""(part, place in its list, why)"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """Its parts. No event and no key is named twice."""

    ack: Sequence[Ack] = ()
    release: Sequence[Release] = ()
    reject: Sequence[Reject] = ()
    memory: Sequence[Write] = ()
    publish: Sequence[Publication] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Turned:
    """What came of each part, in the order of its list."""

    ack: list[Answer]
    release: list[Answer]
    reject: list[Answer]
    memory: list[Entry]
    publish: list[Published]


def require_scopes(
    agent: Principal, *, settles: bool, memory: Collection[str], publish: Collection[str]
) -> None:
    """InsufficientScope, naming all that are wanting, unless the agent has those of all parts.

    Projects by slug.
    """
    missing: dict[str, None] = {}
    if settles and not agent.covered(Verb.CLAIM):
        missing[f"agent:<project>:{Verb.CLAIM}"] = None
    for verb, slugs in ((Verb.MEMORY, memory), (Verb.PUBLISH, publish)):
        covered = {project.slug for project in agent.covered(verb)}
        missing |= dict.fromkeys(
            f"agent:{slug}:{verb}" for slug in sorted(slugs) if slug not in covered
        )
    if missing:
        raise InsufficientScope(*missing)


def take_turn(session: Session, agent: Principal, turn: Turn) -> Turned:
    """Do all of it. Raises TurnConflict, for the caller to roll back; what publish raises besides.

    An ack that has completed its event before is answered again only in a turn that does nothing
    else: what a turn publishes and writes must not be done twice for one event.
    """
    refused: Refused = list(_refused_recipients(session, agent, turn.publish))
    if turn.publish and not refused:
        lock_inboxes(session, {r for p in turn.publish for r in p.recipients})
    orders: list[Order] = [*turn.ack, *turn.release, *turn.reject]
    only_settles = not turn.memory and not turn.publish
    outcomes = settle_many(session, agent, orders, answers_repeats=only_settles) if orders else []
    settled = iter(outcomes)
    ack, release, reject = (
        _done(part, [next(settled) for _ in asked], refused)
        for part, asked in (("ack", turn.ack), ("release", turn.release), ("reject", turn.reject))
    )
    published = []
    if turn.publish and not refused:
        published = publish(session, agent, turn.publish)
        write(session)
    written = write_many(session, agent, agent.id, turn.memory) if turn.memory else []
    for outcome in written:
        if isinstance(outcome, PayloadTooLarge):
            raise outcome
    memory = _done("memory", written, refused)
    if refused:
        raise TurnConflict(sorted(refused, key=lambda one: (_PARTS.index(one[0]), one[1])))
    return Turned(ack=ack, release=release, reject=reject, memory=memory, publish=published)


def _done(part: str, outcomes: Sequence[T | RestanteError], refused: Refused) -> list[T]:
    """Those that were done; the others are noted."""
    done: list[T] = []
    for index, outcome in zip(count(), outcomes, strict=False):
        if isinstance(outcome, RestanteError):
            refused.append((part, index, outcome))
        else:
            done.append(outcome)
    return done


def _refused_recipients(
    session: Session, agent: Principal, publications: Sequence[Publication]
) -> Iterator[tuple[str, int, RestanteError]]:
    if not publications:
        return
    try:
        check_recipients(session, agent, publications)
    except RecipientRefused as error:
        unknown = set(error.members["recipients"])
        for first, publication in numbered(publications):
            named = {*publication.recipients, publication.reply_to} - {None}
            wrong = unknown & {encode_id(Prefix.AGENT, raw) for raw in named if raw is not None}
            if wrong:
                for index in range(first, first + 1 + len(publication.more)):
                    yield "publish", index, RecipientRefused(recipients=sorted(wrong))


_PARTS = ("ack", "release", "reject", "memory", "publish")

"""A turn: an agent's answer, its follow-ups and what it learnt, in one transaction (contract 5.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from blueprints import examples, publishing
from blueprints.access import Access
from blueprints.agents.blueprint import agents
from blueprints.agents.memory import ENTRY
from blueprints.agents.settle import Acked, Released
from blueprints.agents.turn_body import TurnBody, of_this_body, publications_in, turn_of
from blueprints.bodies import idempotency_key
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer
from blueprints.idempotency import once
from blueprints.problems import members_of
from blueprints.shapes import WireInstant
from restante.coordination.turn import require_scopes, take_turn
from restante.errors import (
    IdempotencyInFlight,
    IdempotencyKeyReused,
    InboxFull,
    PayloadTooLarge,
    TurnConflict,
    ValidationFailed,
)
from restante.identity.scopes import Verb
from restante.inbox.publication import Publication
from restante.storage.transaction import Session


class MemoryWritten(Answer):
    """A key as the turn left it, without its value."""

    project: str
    key: str
    version: int
    memory_revision: int
    updated_at: WireInstant
    deleted: bool


class Turned(Answer):
    """What came of each part, in the order of its list; empty for a part that the turn has not."""

    ack: list[Acked]
    release: list[Released]
    reject: list[Released]
    memory: list[MemoryWritten]
    publish: list[publishing.PublishedEvent]


_ACK = {"event_id": examples.EVENT_ID, "claim_generation": 1, "result": {"pull_request": 17}}
_WRITE = {"project": "main", "key": ENTRY["key"], "value": ENTRY["value"], "if_version": 16}
_FOLLOW_UP = {
    "recipients": [examples.WORKER_ID],
    "project": "main",
    "payload": {"type": "review.wanted", "pull_request": 17},
}
_COMPLETED = {
    "event_id": examples.EVENT_ID,
    "status": "completed",
    "completed_at": examples.LATER,
}
_WRITTEN = {name: value for name, value in ENTRY.items() if name != "value"}
_MADE = {
    "event_id": examples.OTHER_EVENT_ID,
    "recipient_id": examples.WORKER_ID,
    "sequence_number": 7,
    "status": "pending",
}


@Endpoint(
    method="POST",
    access=Access(scopes=(Verb.CLAIM, Verb.MEMORY, Verb.PUBLISH), own=True),
    tag="Claims",
    summary="Take a turn",
    description="Settles claims, writes the agent's memory and publishes, in one transaction: all of it, or "
    "nothing, and then `failures` says of each part what was refused. The token needs the scopes of all "
    "parts. With `memory` or `publish` an `Idempotency-Key` is needed: a repeat of the turn is answered with "
    "what it made, whatever has become of the lease since. In such a turn an ack that has completed its "
    "event before is stale.",
    body=TurnBody,
    examples={
        "an answer": {"ack": [_ACK], "memory": [_WRITE], "publish": [_FOLLOW_UP]},
        "one ack alone": {"ack": {"event_id": examples.EVENT_ID, "claim_generation": 1}},
    },
    answer=Turned,
    answer_examples={
        "an answer": {
            "ack": [_COMPLETED],
            "release": [],
            "reject": [],
            "memory": [_WRITTEN],
            "publish": [_MADE],
        }
    },
    problems=(
        TurnConflict,
        IdempotencyKeyReused,
        IdempotencyInFlight,
        InboxFull,
        PayloadTooLarge,
    ),
    creates=True,
    traced=True,
).route(agents, "/inbox/turn")
def turn_inbox(session: Session, call: Call) -> Reply:
    """Turn."""
    body: TurnBody = call.body
    memory, publish = body.memory or [], body.publish or []
    require_scopes(
        call.principal,
        settles=bool(body.ack or body.release or body.reject),
        memory=[write.project for write in memory],
        publish=[message.project for message in publish],
    )
    if (memory or publish) and idempotency_key(call.request) is None:
        raise ValidationFailed.at(
            "Idempotency-Key", "is needed for a turn that writes memory or publishes"
        )
    made: list[Publication] = []

    def create() -> dict[str, Any]:
        try:
            made.extend(publications_in(call))
            return _taken(session, call, made)
        except TurnConflict as conflict:
            conflict.members["failures"] = [
                {"part": part, "index": index, "problem": members_of(error)}
                for part, index, error in conflict.refused
            ]
            raise

    return once(
        session,
        call,
        create,
        render=lambda told: told,
        latest_at=lambda: publishing.latest(session, made),
        status=200,
    )


def _taken(session: Session, call: Call, publications: Sequence[Publication]) -> dict[str, Any]:
    turn = turn_of(call.body, call.principal, publications)
    try:
        done = take_turn(session, call.principal, turn)
    except ValidationFailed as error:
        raise of_this_body(error) from None
    return {
        "ack": done.ack,
        "release": done.release,
        "reject": done.reject,
        "memory": [entry.told_shortly() for entry in done.memory],
        "publish": publishing.told_of(done.publish),
    }

"""Calls that end or keep a lease: contract 5.4 and 5.5."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from restante_agent.errors import ApiError, StaleClaim, UnexpectedAnswer
from restante_agent.model.decode import decode
from restante_agent.model.settle import (
    Ack,
    Acked,
    Failure,
    Reject,
    Rejected,
    Release,
    Released,
    Renew,
    Renewed,
    Settled,
    Settlement,
)
from restante_agent.problem import error_from_members
from restante_agent.wire.call import Call, body, document, reader, segment, sent_at
from restante_agent.wire.core import Core
from restante_agent.wire.step import Answer, Request


def ack(
    core: Core, event_id: str, claim_generation: int, *, result: Mapping[str, Any] | None = None
) -> Call[Acked]:
    """The event is done. Repeating it is safe: the first outcome is answered again."""
    verb = Ack(result)
    return Call(_request(core, "ack", event_id, claim_generation, verb), reader(Acked))


def release(
    core: Core,
    event_id: str,
    claim_generation: int,
    *,
    delay_seconds: float | None = None,
    error: Failure | None = None,
) -> Call[Released]:
    """Give the event back: with `error` the attempt failed, without it never counted."""
    request = _request(core, "release", event_id, claim_generation, Release(delay_seconds, error))

    def already(refusal: ApiError) -> Released | None:
        # Only the holder can have released this generation, so the lost try did.
        if isinstance(refusal, StaleClaim) and refusal.reason == "released":
            return Released(status="pending")
        return None

    return Call(request, reader(Released), already)


def reject(core: Core, event_id: str, claim_generation: int, *, reason: str) -> Call[Rejected]:
    """Quarantine the event now; an operator looks at it."""
    request = _request(core, "reject", event_id, claim_generation, Reject(reason))

    def already(refusal: ApiError) -> Rejected | None:
        if isinstance(refusal, StaleClaim) and refusal.reason == "quarantined":
            return Rejected()
        return None

    return Call(request, reader(Rejected), already)


def renew(
    core: Core,
    event_id: str,
    claim_generation: int,
    *,
    lease_seconds: int | None = None,
    progress: Mapping[str, Any] | None = None,
) -> Call[Renewed]:
    """Keep the lease, and learn whether the event's cancellation was asked for."""
    verb = Renew(lease_seconds, progress)
    request = _request(core, "renew", event_id, claim_generation, verb)
    return Call(request, reader(Renewed, sent_at=sent_at))


def settle(core: Core, settlements: Sequence[Settlement]) -> Call[tuple[Settled, ...]]:
    """Many at once; each stands or falls alone, so look at every result's `error`."""
    path = f"{core.agent_path}/inbox/settle"
    request = Request(method="POST", path=path, body=members_by_verb(settlements))
    return Call(request, _read_settled)


def members_by_verb(settlements: Sequence[Settlement]) -> dict[str, Any]:
    """Lists of orders, by the name of their verb."""
    members: dict[str, Any] = {}
    for one in settlements:
        line = {"event_id": one.event_id, **_members(one.claim_generation, one.verb)}
        members.setdefault(_NAMES[type(one.verb)], []).append(line)
    return members


_NAMES = {Ack: "ack", Release: "release", Reject: "reject", Renew: "renew"}


def _request(
    core: Core, name: str, event_id: str, generation: int, verb: Ack | Release | Reject | Renew
) -> Request:
    path = f"{core.agent_path}/inbox/{segment(event_id, 'event_id')}/{name}"
    return Request(method="POST", path=path, body=_members(generation, verb))


def _members(generation: int, verb: Ack | Release | Reject | Renew) -> dict[str, Any]:
    match verb:
        case Ack():
            members = body(result=verb.result)
        case Release():
            failure = verb.error
            members = body(delay_seconds=verb.delay_seconds, error=failure and _failure(failure))
        case Reject():
            members = body(reason=verb.reason)
        case Renew():
            members = body(lease_seconds=verb.lease_seconds, progress=verb.progress)
    return {"claim_generation": generation, **members}


def _failure(failure: Failure) -> dict[str, str]:
    return {"code": failure.code, "message": failure.message, "outcome": str(failure.outcome)}


def _read_settled(answer: Answer) -> tuple[Settled, ...]:
    members = document(answer)
    results = members.get("results") if isinstance(members, dict) else None
    if not isinstance(results, list):
        raise UnexpectedAnswer("the answer to settle has no list 'results'")
    return tuple(_settled(item) for item in results)


def _settled(item: Any) -> Settled:
    settled = decode(Settled, item)
    problem = settled.raw.get("problem")
    if not isinstance(problem, Mapping):
        return settled
    error = error_from_members(problem, status=int(problem.get("status") or 409))
    return Settled(event_id=settled.event_id, error=error, raw=settled.raw)

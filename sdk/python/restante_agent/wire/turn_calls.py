"""One atomic turn: contract 5.7."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from restante_agent.model.memory import MemoryWrite, Turned
from restante_agent.model.publish import Publication
from restante_agent.model.settle import Settlement
from restante_agent.wire.call import Call, new_key, reader
from restante_agent.wire.core import Core
from restante_agent.wire.settle_calls import members_by_verb
from restante_agent.wire.step import Answer, Request


def turn(
    core: Core,
    settlements: Sequence[Settlement] = (),
    *,
    memory: Sequence[MemoryWrite] = (),
    publish: Sequence[Publication] = (),
    projects: Sequence[str] = (),
    idempotency_key: str | None = None,
) -> Call[Turned]:
    """Ack, release and reject, write memory and publish: all of it, or nothing (TurnConflict).

    `projects`: those of the events that are settled, so that the token can be asked for them.
    The `idempotency_key` stands for this turn: a repeat under it is answered with what it made.
    """
    members: dict[str, Any] = members_by_verb(settlements)
    if memory:
        members["memory"] = [write.as_json() for write in memory]
    if publish:
        members["publish"] = [one.as_json() for one in publish]
    request = Request(
        method="POST",
        path=f"{core.agent_path}/inbox/turn",
        body=members,
        headers={"idempotency-key": idempotency_key or new_key()},
        scope=_scope(memory, publish, projects),
    )
    return Call(request, reader(Turned, replayed=_replayed))


def _scope(
    memory: Sequence[MemoryWrite], publish: Sequence[Publication], projects: Sequence[str]
) -> str | None:
    """One token has to have the scopes of all parts; one that only settles is had unasked."""
    if not memory and not publish:
        return None
    asked = {f"agent:{project}:claim" for project in projects}
    asked |= {f"agent:{write.project}:memory" for write in memory}
    asked |= {f"agent:{one.project}:publish" for one in publish}
    return " ".join(sorted(asked))


def _replayed(answer: Answer) -> bool:
    return answer.headers.get("idempotency-replayed", "").lower() == "true"

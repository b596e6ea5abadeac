"""Calls of a producer: contract 6.1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from restante_agent.model.publish import Cancelled, Publication, Published, Receipt, ReceiptPage
from restante_agent.wire.call import Call, body, new_key, query, reader, segment
from restante_agent.wire.core import Core
from restante_agent.wire.step import Answer, Request

EVENTS = "/api/v1/events"


def publish(
    core: Core, publication: Publication, *, idempotency_key: str | None = None
) -> Call[Published]:
    """Publish to all recipients or to none.

    Give the `idempotency_key` (at most 128 characters) that stands for your own operation, and
    even a repeat after a crash publishes once.
    """
    return _publish(core, EVENTS, publication.as_json(), [publication], idempotency_key)


def publish_many(
    core: Core, publications: Sequence[Publication], *, idempotency_key: str | None = None
) -> Call[Published]:
    """All publications or none, sequences in the order listed."""
    members = {"events": [one.as_json() for one in publications]}
    return _publish(core, EVENTS, members, publications, idempotency_key)


def publish_to(
    core: Core, agent_id: str, publication: Publication, *, idempotency_key: str | None = None
) -> Call[Published]:
    """Publish to one agent, by its own path; `recipients` of the publication stay empty."""
    path = f"/api/v1/agents/{segment(agent_id, 'agent_id')}/events"
    return _publish(core, path, publication.as_json(), [publication], idempotency_key)


def receipt(core: Core, event_id: str) -> Call[Receipt]:
    """What became of an event that this principal published."""
    path = f"{EVENTS}/{segment(event_id, 'event_id')}"
    return Call(Request(method="GET", path=path), reader(Receipt))


def receipts(
    core: Core,
    *,
    correlation_id: str | None = None,
    recipient: str | None = None,
    limit: int | None = None,
    page_token: str | None = None,
) -> Call[ReceiptPage]:
    """Events published by this principal, by correlation or by recipient, a page at a time."""
    found = query(
        correlation_id=correlation_id, recipient=recipient, limit=limit, page_token=page_token
    )
    return Call(Request(method="GET", path=EVENTS, query=found), reader(ReceiptPage))


def cancel(
    core: Core, event_id: str, *, reason: str, project: str | None = None
) -> Call[Cancelled]:
    """Cancel an event of one's own. `project` lets an agent ask for the scope it needs."""
    request = Request(
        method="POST",
        path=f"{EVENTS}/{segment(event_id, 'event_id')}/cancel",
        body=body(reason=reason),
        scope=_scope([project] if project else []),
    )
    return Call(request, reader(Cancelled))


def _publish(
    core: Core,
    path: str,
    members: Mapping[str, Any],
    publications: Sequence[Publication],
    idempotency_key: str | None,
) -> Call[Published]:
    key = idempotency_key or new_key()
    request = Request(
        method="POST",
        path=path,
        body=members,
        headers={"idempotency-key": key},
        scope=_scope([one.project for one in publications]),
    )
    return Call(request, reader(Published, replayed=_replayed, idempotency_key=lambda _: key))


def _scope(projects: Sequence[str]) -> str | None:
    """The scopes an agent's token needs: `publish` is not among those given unasked."""
    return " ".join(sorted({f"agent:{p}:publish" for p in projects})) or None


def _replayed(answer: Answer) -> bool:
    return answer.headers.get("idempotency-replayed", "").lower() == "true"

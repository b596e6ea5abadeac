"""Idempotency-Key at the edge: the same request is carried out once and answered twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from blueprints.bodies import idempotency_key
from blueprints.calls import NO_STORE, Call, Reply
from restante.errors import ValidationFailed
from restante.inbox.idempotency import keep, replay, request_hash
from restante.storage.transaction import Session

REPLAYED = {**NO_STORE, "Idempotency-Replayed": "true"}


def refuse_key(call: Call) -> None:
    """ValidationFailed where the request has a key, and its answer is a secret that is not kept."""
    if idempotency_key(call.request) is not None:
        raise ValidationFailed.at(
            "Idempotency-Key", "is not taken here: the answer holds a secret, which is not kept"
        )


def once(
    session: Session,
    call: Call,
    create: Callable[[], Any],
    *,
    render: Callable[[Any], Any],
    latest_at: Callable[[], datetime | None] = lambda: None,
    status: int = 201,
) -> Reply:
    """`status` with what `create` made, or with what the first request of this key made.

    `create` → what was made, as JSON can keep it. `latest_at`: when the last of it is available.
    """
    key = idempotency_key(call.request)
    if key is None:
        return Reply(render(create()), status)
    hashed = request_hash(call.request.method, call.request.path, call.text)
    made = replay(session, call.principal, key, hashed)
    if made is not None:
        return Reply(render(made), status, REPLAYED)
    made = create()
    keep(session, call.principal, key, made, latest_at=latest_at())
    return Reply(render(made), status)

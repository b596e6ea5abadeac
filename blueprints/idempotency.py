"""Idempotency-Key at the edge: the same request is carried out once and answered twice."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from blueprints.bodies import idempotency_key
from blueprints.calls import NO_STORE, Call, Reply
from restante.inbox.idempotency import keep, replay, request_hash
from restante.storage.transaction import Session

REPLAYED = {**NO_STORE, "Idempotency-Replayed": "true"}


def once(
    session: Session,
    call: Call,
    create: Callable[[], Any],
    *,
    render: Callable[[Any], Any],
    latest_at: Callable[[], datetime | None] = lambda: None,
) -> Reply:
    """201 with what `create` made, or with what the first request of this key made.

    `create` → what was made, as JSON can keep it. `latest_at`: when the last of it is available.
    """
    key = idempotency_key(call.request)
    if key is None:
        return Reply(render(create()), 201)
    hashed = request_hash(call.request.method, call.request.path, call.text)
    made = replay(session, call.principal, key, hashed)
    if made is not None:
        return Reply(render(made), 201, REPLAYED)
    made = create()
    keep(session, call.principal, key, made, latest_at=latest_at())
    return Reply(render(made), 201)

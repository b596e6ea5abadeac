"""Which publishes may share a transaction: for one inbox, few events however they are written, no keys."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import orjson
import pytest
from flask import Request
from werkzeug.test import EnvironBuilder

from blueprints.bodies import read_body
from blueprints.calls import Call
from blueprints.publications import PublishHereBody
from blueprints.publishing import shares
from restante.storage.combine import LARGE, Sharing

HERE = f"agt_{uuid4().hex}"


def asked(events: list[dict[str, Any]]) -> Sharing | None:
    call = object.__new__(Call)
    call.request = Request(EnvironBuilder(method="POST").get_environ())
    call.path = {"agent_id": HERE}
    call.body = read_body(orjson.dumps({"events": events}), PublishHereBody)
    return shares(call)


def event(number: int, **members: Any) -> dict[str, Any]:
    return {"project": "p", "type": "t", "payload": {"n": number}, **members}


@pytest.mark.parametrize("priorities", [1, 7], ids=["alike", "each its own way"])
def test_so_many_events_go_alone_however_they_are_written(priorities: int) -> None:
    def some(count: int) -> list[dict[str, Any]]:
        return [event(n, priority=n % priorities) for n in range(count)]

    few = asked(some(LARGE))
    assert few is not None
    assert few.events == LARGE
    assert asked(some(LARGE + 1)) is None


def test_what_has_a_key_of_its_own_goes_alone() -> None:
    assert asked([event(1), event(2, idempotency_key="k")]) is None

"""The relay at work: receivers that hang hold up nobody else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import orjson
import pytest

from tests.engine.hooks import VERBS, Hooks
from tests.factories import Mailbox, make_tenant
from tests.http.callbacks import Receiver, http
from tests.support.databases import TestDatabase
from tests.support.waiting import wait_until
from workers.webhooks import Webhooks, side_by_side

HANG, WELL = 3, 6
EVENTS = 4


@dataclass
class Hanging(Receiver):
    """Some of its hosts answer nothing until they may."""

    may_answer: threading.Event = field(default_factory=threading.Event)
    hanging: set[str] = field(default_factory=set)

    def __call__(self, address: Any, target: Any, deadline: Any) -> Any:
        if target.host.startswith("hangs"):
            self.hanging.add(target.host)
            assert self.may_answer.wait(60)
        return super().__call__(address, target, deadline)


@pytest.fixture
def hooks(database: TestDatabase) -> Hooks:
    made = Hooks(database, Hanging())
    made.receiver.answering = lambda _: http(b"")
    return made


@pytest.fixture
def service(hooks: Hooks) -> Iterator[Webhooks]:
    relay = hooks.relay()
    relay._side_by_side = side_by_side
    service = Webhooks(relay)
    service.pause_seconds = 0.05
    yield service
    hooks.receiver.may_answer.set()  # type: ignore[attr-defined]  # it is a Hanging
    service.stop()


def is_done(box: Mailbox) -> bool:
    return {event["status"] for event in map(orjson.loads, box.page().events)} == {"completed"}


def test_receivers_that_hang_delay_no_other(
    hooks: Hooks, database: TestDatabase, service: Webhooks
) -> None:
    receiver = hooks.receiver
    assert isinstance(receiver, Hanging)
    receiver.may_answer.set()
    tenant = make_tenant(database)
    boxes = [tenant.agent(verbs=VERBS) for _ in range(HANG + WELL)]
    for number, box in enumerate(boxes):
        kind = "hangs" if number < HANG else "well"
        hooks.active(box, url=f"https://{kind}{number}.example.com/")
    receiver.may_answer.clear()
    receiver.hanging.clear()
    for box in boxes:
        box.publish_many([box.publication() for _ in range(EVENTS)])
    service.start()
    wait_until(lambda: len(receiver.hanging) == HANG, "three hang")
    wait_until(lambda: all(map(is_done, boxes[HANG:])), "all others have their events")
    assert not any(map(is_done, boxes[:HANG]))
    receiver.may_answer.set()
    wait_until(lambda: all(map(is_done, boxes)), "those that hung go on")

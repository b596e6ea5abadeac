"""Two at once: the last challenge of a host, the two deliverers of a project, one callback's turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from restante.audit.entries import IN_PROCESS
from restante.egress.policy import Policy
from restante.errors import CallbackConflict, RateLimited
from restante.webhooks.callbacks import Mode
from restante.webhooks.registration import Wanted, judged
from restante.webhooks.room import Room
from restante.webhooks.states import Step
from tests.engine.hooks import VERBS, Hooks
from tests.factories import make_tenant
from tests.http.callbacks import SECRET
from tests.support.databases import TestDatabase


def together(*works: Callable[[], Any]) -> list[Any]:
    """What each returns or raises, begun at once."""
    barrier, outcomes = threading.Barrier(len(works)), [None] * len(works)

    def one(place: int, work: Callable[[], Any]) -> None:
        barrier.wait(20)
        try:
            outcomes[place] = work()
        except Exception as error:  # noqa: BLE001 - it is what is looked at
            outcomes[place] = error

    threads = [threading.Thread(target=one, args=given) for given in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


@pytest.mark.servers_only
def test_the_last_challenge_of_a_host_is_had_by_one(database: TestDatabase) -> None:
    hooks, tenant = Hooks(database), make_tenant(database)
    wanted = Wanted(judged("https://hooks.example.com/", Policy()), Mode.NOTIFY, None, 1)

    def register(mail: Any) -> Callable[[], Any]:
        return lambda: hooks.challenger.register(mail.agent, wanted, secret=SECRET, by=IN_PROCESS)

    for _ in range(8):
        register(tenant.agent(verbs=VERBS))()
    outcomes = together(*(register(tenant.agent(verbs=VERBS)) for _ in range(5)))
    refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert len(refused) == 3
    assert all(isinstance(error, RateLimited) for error in refused)
    assert len(hooks.receiver.requests) == 10


@pytest.mark.servers_only
def test_of_two_that_would_deliver_the_same_one_becomes_active(database: TestDatabase) -> None:
    hooks = Hooks(database)
    mail = make_tenant(database).agent(verbs=VERBS)
    made = []
    for number in range(2):
        url = judged(f"https://h{number}.example.com/", Policy())
        wanted = Wanted(url, Mode.DELIVER, ("p",), 1)
        made.append(hooks.challenger.register(mail.agent, wanted, secret=SECRET, by=IN_PROCESS)[0])
    outcomes = together(*(lambda one=one: hooks.decide(one, Step.APPROVE) for one in made))
    refused = [outcome for outcome in outcomes if isinstance(outcome, Exception)]
    assert [type(error) for error in refused] == [CallbackConflict]


@pytest.mark.servers_only
def test_a_turn_is_one_relays(database: TestDatabase) -> None:
    hooks = Hooks(database)
    mail = make_tenant(database).agent(verbs=VERBS)
    mail.publish()
    hooks.active(mail)
    relays = [hooks.relay() for _ in range(4)]
    outcomes = together(*(lambda relay=relay: relay.take(Room()).turns for relay in relays))
    assert sorted(len(turns) for turns in outcomes) == [0, 0, 0, 1]

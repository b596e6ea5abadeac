"""Fixtures of the SDK's tests: a fake inbox, clients for it, and a clock moved by hand."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from restante_agent import Client
from restante_agent.runtime import leases
from restante_agent.wire.retry import NO_RETRY
from tests.sdk.fake_answers import AGENT, SECRET, Reply, problem
from tests.sdk.fake_inbox import FakeInbox
from tests.sdk.fake_server import FakeServer, served, transport_for
from tests.sdk.real_server import Server
from tests.sdk.running import Asking

BASE = "http://localhost:8000"


class HandClock:
    """Monotonic time that only `sleep` and `advance` move; it notes every wait asked for."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def inbox(clock: HandClock) -> FakeInbox:
    return FakeInbox(clock.monotonic)


@pytest.fixture
def client(inbox: FakeInbox, clock: HandClock) -> Client:
    return make_client(inbox, clock)


def make_client(inbox: FakeInbox, clock: HandClock, **options: Any) -> Client:
    settings = {
        "transport": transport_for(inbox),
        "random": Random(7),
        "monotonic": clock.monotonic,
        "sleep": clock.sleep,
        **options,
    }
    return Client(BASE, AGENT, SECRET, **settings)


@pytest.fixture
def live_inbox() -> FakeInbox:
    """An inbox on the real clock, for tests that run threads and processes."""
    return FakeInbox(time.monotonic)


@pytest.fixture
def server(live_inbox: FakeInbox) -> Iterator[FakeServer]:
    with served(live_inbox) as fake:
        yield fake


@pytest.fixture
def renewals_start_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """At a hundredth of a lease, not at a third: a long one is renewed soon, and outlives any pause."""
    monkeypatch.setattr(leases, "RENEW_FROM", 0.01)
    monkeypatch.setattr(leases, "RENEW_TO", 0.01)


Refusal = Callable[[str, str, Any], Reply | None]
REFUSALS: dict[str, tuple[str, Reply]] = {
    "disabled": ("/oauth/token", (401, {}, {"error": "invalid_client"})),
    "no grant left": ("/oauth/token", (400, {}, {"error": "invalid_scope"})),
    "every token is refused": ("/", problem(401, "unauthenticated")),
    "403": (
        "/",
        problem(403, "insufficient-scope", required_scope="agent:demo:claim"),
    ),
}


@pytest.fixture(params=REFUSALS)
def refusal(request: pytest.FixtureRequest) -> Refusal:
    """What the server answers to everything while access is withdrawn."""
    path, reply = REFUSALS[request.param]

    def answer(_method: str, asked: str, _body: Any) -> Reply | None:
        if asked == "/oauth/token":
            return reply if path == asked else None
        return reply if path == "/" else problem(401, "unauthenticated")

    return answer


def nobody(*_: object) -> None:
    return None


@pytest.fixture(scope="session")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all modules that need no settings of their own."""
    made = Server(tmp_path_factory.mktemp("served"))
    yield made
    made.served.stop()


@pytest.fixture
def asking(inbox: FakeInbox, clock: HandClock, tmp_path: Path) -> Iterator[Callable[..., Asking]]:
    made: list[Asking] = []
    client = make_client(inbox, clock, retry=NO_RETRY)

    def make_one(**options: Any) -> Asking:
        made.append(Asking(client, clock, tmp_path, **options))
        return made[-1]

    yield make_one
    for one in made:
        one.inquiry._record.close()

"""One kept login and the clients that share it, on a clock moved by hand."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

from restante_agent import Client
from restante_agent.login.kept import KeptLogin
from restante_agent.wire.call import Call
from restante_agent.wire.login import Kept
from restante_agent.wire.step import Answer, Request
from tests.sdk.authorization_server import BASE, Authorization
from tests.sdk.conftest import HandClock
from tests.sdk.fake_answers import AGENT
from tests.sdk.test_kept_login import none


def bearer(answer: Answer) -> str:
    return str(json.loads(answer.content)["authorization"]).removeprefix("Bearer ")


WHICH = Call(Request(method="GET", path="/which"), bearer)


class Family:
    """One kept login, and the clients that share it: each with a handle of its own on the file."""

    def __init__(self, clock: HandClock, folder: Path) -> None:
        self.clock, self.folder = clock, folder
        self.server = Authorization(clock.monotonic)
        self.begin()

    def begin(self) -> None:
        self.handle().begin(Kept(self.server.new_refresh_token(), AGENT))

    def handle(self) -> KeptLogin:
        return KeptLogin(BASE, AGENT, base=self.folder, environ={}, keychain=none)

    @property
    def kept(self) -> Kept:
        found = self.handle().read()
        assert found
        return found

    def options(self, **others: Any) -> dict[str, Any]:
        clocks = {"monotonic": self.clock.monotonic, "wall": self.clock.monotonic}
        return {"login": self.handle(), "random": Random(7), **clocks, **others}

    def client(self, **others: Any) -> Client:
        made = {"sleep": self.clock.sleep, "transport": self.server.transport(), **others}
        return Client(BASE, **self.options(**made))

    @property
    def refreshes(self) -> int:
        return len(self.server.asked)

"""Receivers that touch no network, and callbacks that are registered with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from restante.egress.client import Egress
from restante.egress.deadline import Deadline
from restante.egress.dial import Certificate, Line
from restante.egress.policy import Policy
from restante.egress.ranges import Address
from restante.egress.refusal import CallFailed, Cause
from restante.egress.url import Target
from restante.webhooks.challenger import Challenger
from restante.webhooks.sealed import Secrets
from restante.webhooks.secrets import response_to
from tests.http.world import Caller, World
from tests.support.serving import SECRET_KEY
from tests.unit.egress.canned import PUBLIC, Clock, Names

SECRET = "whsec_C2FVsBQIhrscChlQIMV+b5sSYYsooboDXR5Cd5rDEPg="
URL = "https://hooks.example.com/restante"
Answering = Callable[[dict[str, Any]], bytes]


def http(body: bytes, *, status: int = 200, fields: str = "") -> bytes:
    """An answer as bytes."""
    return f"HTTP/1.1 {status} X\r\n{fields}Content-Length: {len(body)}\r\n\r\n".encode() + body


def right(secret: str = SECRET) -> Answering:
    """A receiver that knows the secret."""
    return lambda told: http(
        json.dumps({"challenge_response": response_to(secret, told["challenge"])}).encode()
    )


@dataclass
class Receiver:
    """Answers every call as it is told, and keeps what it was sent and where it was dialled."""

    answering: Answering = field(default_factory=right)
    addresses: list[str] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    dialled: Callable[[], Any] | None = None
    failing: Cause | None = None

    def __call__(self, address: Address, target: Target, deadline: Deadline) -> Line:
        self.addresses.append(str(address))
        if self.dialled is not None:
            self.dialled()
        if self.failing is not None:
            raise CallFailed(self.failing, "as it was told")
        return _Line(self)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(sent.partition(b"\r\n\r\n")[2]) for sent in self.requests]


class _Line:
    certificate = Certificate(("hooks.example.com", "alt.example.com"), datetime(2031, 5, 1))

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._sent = b""
        self._answer: bytes | None = None

    def send(self, data: bytes) -> None:
        self._sent += data

    def receive(self) -> bytes:
        if self._answer is None:
            self._receiver.requests.append(self._sent)
            told = json.loads(self._sent.partition(b"\r\n\r\n")[2])
            self._answer = self._receiver.answering(told)
        piece, self._answer = self._answer[:16384], self._answer[16384:]
        return piece

    def close(self) -> None:
        pass


@dataclass
class Outside:
    """What a world calls: names, a receiver, a clock that stands still, and how long was waited."""

    world: World
    receiver: Receiver
    names: Names
    clock: Clock
    waited: list[float]


def call_out_to(
    world: World,
    receiver: Receiver | None = None,
    *,
    answers: Sequence[Sequence[str]] = ((PUBLIC,),),
    error: str | None = None,
    policy: Policy | None = None,
) -> Outside:
    """Have the world's calls go to this receiver."""
    outside = Outside(world, receiver or Receiver(), Names(answers, error=error), Clock(), [])
    house = world.house
    egress = Egress(
        policy or house.settings.egress_policy,
        resolver=outside.names,
        dial=outside.receiver,
        clock=outside.clock,
    )
    challenger = Challenger(
        house.database,
        egress,
        Secrets([SECRET_KEY]),
        sleep=outside.waited.append,
        clock=outside.clock,
    )
    world.app.extensions["restante"] = replace(house, challenger=challenger)
    return outside


def register(agent: Caller, **said: Any) -> Any:
    """The answer to a registration."""
    headers = said.pop("headers", {})
    body = {"url": URL, "secret": SECRET, "mode": "deliver", **said}
    return agent.post("A/callbacks", body, headers=headers)


def registered(agent: Caller, **said: Any) -> str:
    """The id of one that has answered its challenge."""
    answer = register(agent, **said)
    assert answer.status_code == 201, answer.text
    callback_id: str = answer.json["callback_id"]
    return callback_id


def decided(admin: Caller, callback_id: str, step: str) -> Any:
    """The answer to an administrator's decision."""
    return admin.post(f"admin/callbacks/{callback_id}/{step}", {"reason": "agreed"})


def problem(answer: Any) -> tuple[int, str]:
    """The status and the slug of a refusal."""
    return answer.status_code, answer.json["type"].removeprefix("/problems/")

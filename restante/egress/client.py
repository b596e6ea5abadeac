"""The outbound client: a verdict, a line to an address it named, one request, one answer."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from restante import __version__
from restante.egress.answer import read_answer
from restante.egress.deadline import Clock, Deadline
from restante.egress.dial import Certificate, Dial, Line
from restante.egress.exchange import request_bytes
from restante.egress.policy import ANSWER_BYTES, Policy, Purpose
from restante.egress.ranges import Address
from restante.egress.refusal import CallFailed, Cause
from restante.egress.resolve import Resolver
from restante.egress.url import Target
from restante.egress.verdict import judge_answers, judge_text
from restante.errors import RestanteError

log = logging.getLogger("restante.egress")

TOTAL_SECONDS = 10.0
LOOKUP_SECONDS = 3.0
ADDRESSES_TRIED = 4


@dataclass(frozen=True, slots=True)
class Route:
    """A URL that may be called now, and the addresses that were judged for it."""

    target: Target
    addresses: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, never to be shown to a tenant.

    `body` has at most the purpose's limit (`truncated`: there was more) and is as it was sent, not
    decompressed. `fields` are by lower-case name. `address` is the one that was dialled.
    """

    status: int
    fields: Mapping[str, str]
    body: bytes
    truncated: bool
    address: Address
    certificate: Certificate | None
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether it is 2xx. A redirect is not: it is never followed."""
        return 200 <= self.status < 300


class Egress:
    """Makes every outbound call (contract section 7). To be used without a transaction open."""

    def __init__(
        self, policy: Policy, *, resolver: Resolver, dial: Dial, clock: Clock = time.monotonic
    ) -> None:
        self.policy = policy
        self._resolver = resolver
        self._dial = dial
        self._clock = clock

    def judge(
        self, url: str, *, purpose: Purpose = Purpose.CALLBACK, seconds: float = LOOKUP_SECONDS
    ) -> Route:
        """The whole verdict without a call: text, one lookup, every answer.

        Raises EgressRefused, or CallFailed where the lookup came to nothing.
        """
        return self._route(url, purpose, Deadline(seconds, self._clock))

    def send(
        self,
        method: str,
        url: str,
        *,
        fields: Mapping[str, str],
        body: bytes | None = None,
        purpose: Purpose = Purpose.CALLBACK,
        total_seconds: float = TOTAL_SECONDS,
        last_look: Callable[[], None] | None = None,
    ) -> Answer:
        """Judge and call; raises EgressRefused, CallFailed, or ValueError for fields that may not be sent.

        `last_look`: called once the line stands; what it raises ends the call before a byte is sent. Its
        time is none of the call's.
        """
        began = self._clock()
        deadline = Deadline(total_seconds, self._clock)
        with _foreseen():
            route = self._route(url, purpose, deadline)
        named = {"User-Agent": f"Restante/{__version__}", **fields}
        message = request_bytes(method, route.target, fields=named, body=body)
        with _foreseen():
            address, line = self._open(route, deadline)
        try:
            if last_look is not None:
                looked_at = self._clock()
                last_look()
                took = self._clock() - looked_at
                deadline.put_off(took)
                began += took
            with _foreseen():
                line.send(message)
                got = read_answer(line, method=method, limit=ANSWER_BYTES[purpose])
        finally:
            line.close()
        return Answer(
            status=got.status,
            fields=got.fields,
            body=got.body,
            truncated=got.truncated,
            address=address,
            certificate=line.certificate,
            seconds=self._clock() - began,
        )

    def _route(self, url: str, purpose: Purpose, deadline: Deadline) -> Route:
        target = judge_text(url, self.policy, purpose=purpose)
        if target.literal is not None:
            return Route(target, (target.literal,))
        answers = self._resolver(target.host, target.port, deadline.left(LOOKUP_SECONDS))
        return Route(target, judge_answers(target, answers, self.policy, purpose=purpose))

    def _open(self, route: Route, deadline: Deadline) -> tuple[Address, Line]:
        """The first judged address that takes a connection."""
        failed = CallFailed(Cause.CONNECT, "there was no address to dial")
        for address in route.addresses[:ADDRESSES_TRIED]:
            try:
                return address, self._dial(address, route.target, deadline)
            except CallFailed as error:
                if error.cause is not Cause.CONNECT:
                    raise
                failed = error
        raise failed


@contextmanager
def _foreseen() -> Iterator[None]:
    """What nobody foresaw of a peer is a failed call too, and a fault of ours that is in the log.

    Whoever calls holds an event or a challenge, and lets go of it when the call has failed.
    """
    try:
        yield
    except RestanteError:
        raise
    except Exception as error:
        log.exception("egress_unforeseen error=%s", type(error).__name__)
        raise CallFailed(Cause.PROTOCOL, f"unforeseen: {type(error).__name__}") from error

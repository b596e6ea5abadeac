"""Blocking requests: a Send in, an Answer or Lost out."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeVar

import httpx2

from restante_agent.errors import UnexpectedAnswer
from restante_agent.transport import LIMITS, lost, lower, signed, timeout_of
from restante_agent.wire.step import Answer, Exchange, Lost, Pause, Reply, Send

T = TypeVar("T")


class Sender:
    """Connections, shared by all threads of a client."""

    def __init__(
        self, transport: httpx2.BaseTransport | None, monotonic: Callable[[], float]
    ) -> None:
        self._http = httpx2.Client(transport=transport, limits=LIMITS, follow_redirects=False)
        self._monotonic = monotonic

    def send(self, step: Send, opened: list[httpx2.Response] | None = None) -> Answer | Lost:
        """Send it. The body of a stream that is let in is not read: its response is in `opened`."""
        if step.keep is None:
            return self._exchange(step, opened)
        # In a thread of its own, which Ctrl-C does not reach: leaving the block waits for its end.
        with ThreadPoolExecutor(1, thread_name_prefix="restante-keep") as pool:
            return pool.submit(self._kept, step).result()

    def play(self, exchange: Exchange[T], *, sleep: Callable[[float], None]) -> T:
        """What comes of an exchange that needs no token."""
        reply: Reply = None
        with closing(exchange):
            while True:
                try:
                    step = exchange.send(reply)
                except StopIteration as end:
                    value: T = end.value
                    return value
                if isinstance(step, Send):
                    reply = self.send(step)
                elif isinstance(step, Pause):
                    sleep(step.seconds)
                    reply = None
                else:
                    raise TypeError(f"there is no token here for {step!r}")

    def close(self) -> None:
        self._http.close()

    def _kept(self, step: Send) -> Answer | Lost:
        reply = self._exchange(step, None)
        if step.keep is not None and isinstance(reply, Answer):
            step.keep(reply)
        return reply

    def _exchange(self, step: Send, opened: list[httpx2.Response] | None) -> Answer | Lost:
        request = self._http.build_request(
            step.method,
            step.url,
            headers=step.headers,
            content=step.content,
            timeout=timeout_of(step),
        )
        signed(request, step)
        sent_at = self._monotonic()
        try:
            response = self._http.send(request, stream=step.stream)
            if step.stream and response.status_code < 400 and opened is not None:
                opened.append(response)
                content = b""
            else:
                content = response.read()
                response.close()
        except httpx2.TransportError as error:
            return Lost(lost(error))
        except httpx2.DecodingError as error:
            raise UnexpectedAnswer(f"the answer's encoding cannot be undone: {error}") from error
        return Answer(
            status=response.status_code,
            headers=lower(response.headers),
            content=content,
            sent_at=sent_at,
            received_at=self._monotonic(),
        )

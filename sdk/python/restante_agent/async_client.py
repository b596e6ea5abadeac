"""The async client. The same calls, the same core."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Self, TypeVar

import anyio
import httpx2

from restante_agent import settings
from restante_agent.doorbell_stream import AsyncDoorbellStream
from restante_agent.errors import UnexpectedAnswer
from restante_agent.login.kept import KeptLogin
from restante_agent.transport import LIMITS, lost, lower, signed, timeout_of
from restante_agent.wire import inbox_calls, memory_calls, publish_calls, settle_calls, turn_calls
from restante_agent.wire.bind import awaiting
from restante_agent.wire.call import Call
from restante_agent.wire.core import Core
from restante_agent.wire.retry import RetryPolicy
from restante_agent.wire.signature import Pen, SigningKey
from restante_agent.wire.step import Answer, Authorize, Exchange, Lost, Pause, Reply, Send, Sign

T = TypeVar("T")


class AsyncClient:
    """As `Client`, with ``await`` before every call."""

    def __init__(
        self,
        base_url: str,
        client_id: str = "",
        client_secret: str = "",
        *,
        login: KeptLogin | None = None,
        scope: str | None = None,
        agent_id: str | None = None,
        sign: bool | SigningKey | None = None,
        state_dir: Path | None = None,
        retry: RetryPolicy | None = None,
        read_seconds: float = 15.0,
        transport: httpx2.AsyncBaseTransport | None = None,
        random: Random | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        self.core: Core = settings.core_for(
            base_url,
            settings.credentials_for(
                client_id,
                client_secret,
                scope=scope,
                login=login,
                monotonic=monotonic,
                wall=wall,
            ),
            agent_id=agent_id,
            sign=sign,
            retry=retry,
            read_seconds=read_seconds,
            random=random,
        )
        self._http = httpx2.AsyncClient(transport=transport, limits=LIMITS, follow_redirects=False)
        self._monotonic, self._sleep, self._wall = monotonic, sleep, wall
        self._keys = settings.signing_file(self.core, state_dir)
        self._token_lock, self._key_lock = anyio.Lock(), anyio.Lock()

    @classmethod
    def from_environment(cls, **options: Any) -> AsyncClient:
        """A client from RESTANTE_URL, RESTANTE_CLIENT_ID and RESTANTE_CLIENT_SECRET.

        Without a secret, from what `restante-agent login` has kept (`settings.from_environment`).
        """
        found = settings.from_environment(state_dir=options.get("state_dir"))
        return cls(**{**found, **options})

    def with_options(
        self, *, retry: RetryPolicy | None = None, read_seconds: float | None = None
    ) -> AsyncClient:
        """A view of this client with other settings; connections and tokens are shared."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        view.core = replace(
            self.core,
            retry=retry or self.core.retry,
            read_seconds=self.core.read_seconds if read_seconds is None else read_seconds,
        )
        return view

    # 5.1 to 5.3, 5.5, 5.6, 5.9
    read = awaiting(inbox_calls.read)
    read_if_changed = awaiting(inbox_calls.read_if_changed)
    claim = awaiting(inbox_calls.claim)
    claims = awaiting(inbox_calls.claims)
    release_all = awaiting(inbox_calls.release_all)
    commit = awaiting(inbox_calls.commit)
    event = awaiting(inbox_calls.event)
    stats = awaiting(inbox_calls.stats)
    state = awaiting(inbox_calls.state)
    # 5.4, 5.5
    ack = awaiting(settle_calls.ack)
    release = awaiting(settle_calls.release)
    reject = awaiting(settle_calls.reject)
    renew = awaiting(settle_calls.renew)
    settle = awaiting(settle_calls.settle)
    # 5.7, 5.8
    turn = awaiting(turn_calls.turn)
    memory_get = awaiting(memory_calls.memory_get)
    memory_put = awaiting(memory_calls.memory_put)
    memory_patch = awaiting(memory_calls.memory_patch)
    memory_delete = awaiting(memory_calls.memory_delete)
    memory_list = awaiting(memory_calls.memory_list)
    # 6.1
    publish = awaiting(publish_calls.publish)
    publish_many = awaiting(publish_calls.publish_many)
    publish_to = awaiting(publish_calls.publish_to)
    receipt = awaiting(publish_calls.receipt)
    receipts = awaiting(publish_calls.receipts)
    cancel = awaiting(publish_calls.cancel)

    @asynccontextmanager
    async def subscribe(
        self, *, after_cursor: int | None = None, silence_seconds: float = 75.0
    ) -> AsyncIterator[AsyncDoorbellStream]:
        """The doorbell: iterate it for frames. TimedOut after `silence_seconds` without a byte."""
        core = replace(self.core, read_seconds=silence_seconds)
        opened: list[httpx2.Response] = []
        request = inbox_calls.subscribe(core, after_cursor=after_cursor)
        try:
            await self._drive(core.exchange(request), opened)
            yield AsyncDoorbellStream(opened[-1])
        finally:
            with anyio.CancelScope(shield=True):
                for response in opened:
                    await response.aclose()

    @property
    def agent_id(self) -> str:
        """The agent whose inbox this client is about."""
        return self.core.agent

    @property
    def server_version(self) -> str | None:
        """`Restante-Version` of the newest answer; None before the first."""
        return self.core.shared.server_version

    def forget_tokens(self) -> None:
        """Drop the kept tokens, so that the next call asks for a new one."""
        self.core.shared.tokens.clear()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def perform(self, call: Call[T]) -> T:
        """Run a call built by hand; what the methods do."""
        return await self._drive(call.exchange(self.core))

    async def _drive(self, exchange: Exchange[T], opened: list[httpx2.Response] | None = None) -> T:
        reply: Reply = None
        with closing(exchange):
            while True:
                try:
                    step = exchange.send(reply)
                except StopIteration as end:
                    value: T = end.value
                    return value
                match step:
                    case Send():
                        reply = await self._send(step, opened)
                    case Pause():
                        await self._sleep(step.seconds)
                        reply = None
                    case Authorize():
                        reply = await self._token(step)
                    case Sign():
                        reply = await self._pen(step)

    async def _token(self, step: Authorize) -> str:
        value = self.core.current(step, self._monotonic())
        if value is None:
            async with self._token_lock:
                value = self.core.current(step, self._monotonic())
                if value is None:
                    value = (await self._drive(self.core.obtain(step.scope, step.rejected))).value
        return value

    async def _pen(self, step: Sign) -> Pen | None:
        signing, now = self.core.shared.signing, self._wall()
        pen = signing.pen(now, step.rejected)
        if pen is None:
            async with self._key_lock:
                pen = await self._drive(self.core.new_pen(self._keys, now, step.rejected))
        return pen

    async def _send(self, step: Send, opened: list[httpx2.Response] | None) -> Answer | Lost:
        if step.keep is None:
            return await self._exchange(step, opened)
        with anyio.CancelScope(shield=True):
            reply = await self._exchange(step, opened)
            if isinstance(reply, Answer):
                step.keep(reply)
        return reply

    async def _exchange(self, step: Send, opened: list[httpx2.Response] | None) -> Answer | Lost:
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
            response = await self._http.send(request, stream=step.stream)
            if step.stream and response.status_code < 400 and opened is not None:
                opened.append(response)
                content = b""
            else:
                content = await response.aread()
                await response.aclose()
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

"""The blocking client. Safe to share between threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from threading import Lock
from typing import Any, Self, TypeVar

import httpx2

from restante_agent import settings
from restante_agent.doorbell_stream import DoorbellStream
from restante_agent.login.kept import KeptLogin
from restante_agent.sender import Sender
from restante_agent.wire import inbox_calls, memory_calls, publish_calls, settle_calls, turn_calls
from restante_agent.wire.bind import blocking
from restante_agent.wire.call import Call
from restante_agent.wire.core import Core
from restante_agent.wire.login import ANSWER_SECONDS, Login
from restante_agent.wire.retry import RetryPolicy
from restante_agent.wire.signature import Pen, SigningKey
from restante_agent.wire.step import Authorize, Exchange, Pause, Reply, Send, Sign

T = TypeVar("T")


class Client:
    """The contract's calls, typed, with tokens, retries and waits taken care of.

    >>> client = Client("https://inbox.example", "agt_...", "secret")
    >>> claim = client.claim(limit=1)

    `transport`, `random`, `monotonic` and `sleep` are there for tests.
    """

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
        transport: httpx2.BaseTransport | None = None,
        random: Random | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], None] = time.sleep,
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
        self._sender = Sender(transport, monotonic)
        self._monotonic, self._sleep, self._wall = monotonic, sleep, wall
        self._keys = settings.signing_file(self.core, state_dir)
        self._token_lock, self._key_lock = Lock(), Lock()

    @classmethod
    def from_environment(cls, **options: Any) -> Client:
        """A client from RESTANTE_URL, RESTANTE_CLIENT_ID and RESTANTE_CLIENT_SECRET.

        Without a secret, from what `restante-agent login` has kept (`settings.from_environment`).
        """
        found = settings.from_environment(state_dir=options.get("state_dir"))
        return cls(**{**found, **options})

    def with_options(
        self, *, retry: RetryPolicy | None = None, read_seconds: float | None = None
    ) -> Client:
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
    read = blocking(inbox_calls.read)
    read_if_changed = blocking(inbox_calls.read_if_changed)
    claim = blocking(inbox_calls.claim)
    claims = blocking(inbox_calls.claims)
    release_all = blocking(inbox_calls.release_all)
    commit = blocking(inbox_calls.commit)
    event = blocking(inbox_calls.event)
    stats = blocking(inbox_calls.stats)
    state = blocking(inbox_calls.state)
    # 5.4, 5.5
    ack = blocking(settle_calls.ack)
    release = blocking(settle_calls.release)
    reject = blocking(settle_calls.reject)
    renew = blocking(settle_calls.renew)
    settle = blocking(settle_calls.settle)
    # 5.7, 5.8
    turn = blocking(turn_calls.turn)
    memory_get = blocking(memory_calls.memory_get)
    memory_put = blocking(memory_calls.memory_put)
    memory_patch = blocking(memory_calls.memory_patch)
    memory_delete = blocking(memory_calls.memory_delete)
    memory_list = blocking(memory_calls.memory_list)
    # 6.1
    publish = blocking(publish_calls.publish)
    publish_many = blocking(publish_calls.publish_many)
    publish_to = blocking(publish_calls.publish_to)
    receipt = blocking(publish_calls.receipt)
    receipts = blocking(publish_calls.receipts)
    cancel = blocking(publish_calls.cancel)

    @contextmanager
    def subscribe(
        self, *, after_cursor: int | None = None, silence_seconds: float = 75.0
    ) -> Iterator[DoorbellStream]:
        """The doorbell: iterate it for frames. TimedOut after `silence_seconds` without a byte.

        A frame only says that something is there; claim or read to get it. The stream's `abort`
        may be called from another thread.
        """
        core = replace(self.core, read_seconds=silence_seconds)
        opened: list[httpx2.Response] = []
        request = inbox_calls.subscribe(core, after_cursor=after_cursor)
        try:
            self._drive(core.exchange(request), opened)
            yield DoorbellStream(opened[-1])
        finally:
            for response in opened:
                response.close()

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

    def close(self) -> None:
        is_login = isinstance(self.core.credentials, Login)
        # an answer with a login's next token, on its way to another thread, is kept first
        held = is_login and self._token_lock.acquire(timeout=2 * ANSWER_SECONDS)
        self._sender.close()
        if held:
            self._token_lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def perform(self, call: Call[T]) -> T:
        """Run a call built by hand; what the methods do."""
        return self._drive(call.exchange(self.core))

    def _drive(self, exchange: Exchange[T], opened: list[httpx2.Response] | None = None) -> T:
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
                        reply = self._sender.send(step, opened)
                    case Pause():
                        self._sleep(step.seconds)
                        reply = None
                    case Authorize():
                        reply = self._token(step)
                    case Sign():
                        reply = self._pen(step)

    def _token(self, step: Authorize) -> str:
        value = self.core.current(step, self._monotonic())
        if value is None:
            with self._token_lock:
                value = self.core.current(step, self._monotonic())
                if value is None:
                    value = self._drive(self.core.obtain(step.scope, step.rejected)).value
        return value

    def _pen(self, step: Sign) -> Pen | None:
        signing, now = self.core.shared.signing, self._wall()
        pen = signing.pen(now, step.rejected)
        if pen is None:
            with self._key_lock:
                pen = self._drive(self.core.new_pen(self._keys, now, step.rejected))
        return pen

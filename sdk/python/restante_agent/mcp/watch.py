"""Tells harnesses that have subscribed that the open mail is another: it listens to the doorbell for them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import Random
from typing import Any

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ResourceUpdated, ServerEvent
from mcp.types import EmptyResult, SubscribeRequestParams, UnsubscribeRequestParams

from restante_agent.errors import RestanteError
from restante_agent.mcp.desk import Desk
from restante_agent.model.frame import Ready, Ring
from restante_agent.model.inbox import Page
from restante_agent.runtime.bell import Bell
from restante_agent.runtime.board import Board
from restante_agent.runtime.listening import Listening
from restante_agent.wire.retry import NO_RETRY

log = logging.getLogger("restante_agent")

SHOWN_AT_ONCE = 20
Context = ServerRequestContext[Any, Any]


class Watch(InMemorySubscriptionBus):
    """A bus of the library's, for `subscriptions/listen`; `resources/subscribe` is what came before it.

    No stream is opened before somebody has subscribed.
    """

    def __init__(self, desk: Desk, uri: str) -> None:
        super().__init__()
        self._desk, self._uri = desk, uri
        board = Board(clock=desk.clock, random=Random(), changed=Bell())  # noqa: S311 - spreads waits
        self._client = desk.client.with_options(retry=NO_RETRY)
        self._listening = Listening(board, forget_tokens=desk.client.forget_tokens)
        self._wanted = anyio.Event()
        self._etag: str | None = None
        self._looked = False
        self._older: dict[int, tuple[object, ServerSession]] = {}

    async def read(self) -> Page:
        """What is open; harnesses are told when it is no longer this."""
        page = await self._desk.client.read(**self._query())
        self._etag, self._looked = page.etag, True
        return page

    def subscribe(self, listener: Callable[[ServerEvent], None]) -> Callable[[], None]:
        self._wanted.set()
        return super().subscribe(listener)

    async def on_subscribe(self, context: Context, params: SubscribeRequestParams) -> EmptyResult:
        """`resources/subscribe`, of harnesses that speak a version before 2026."""
        if str(params.uri) == self._uri:
            who = context.session.client_params  # the same for as long as its connection
            self._older[id(who)] = (who, context.session)
            self._wanted.set()
        return EmptyResult()

    async def on_unsubscribe(
        self, context: Context, params: UnsubscribeRequestParams
    ) -> EmptyResult:
        if str(params.uri) == self._uri:
            self._older.pop(id(context.session.client_params), None)
        return EmptyResult()

    async def keep(self) -> None:
        """Listen for as long as it is not cancelled, from the first subscription on."""
        await self._wanted.wait()
        wait: float | None = 0.0
        while wait is not None:
            await anyio.sleep(wait)
            try:
                wait = await self._one_stream()
            except RestanteError as error:
                wait = self._listening.failed(error)

    async def _one_stream(self) -> float:
        silence = self._listening.silence_seconds
        async with self._client.subscribe(silence_seconds=silence) as stream:
            async for frame in stream:
                wait = self._listening.heard(frame)
                if wait is not None:
                    return wait
                if isinstance(frame, Ready | Ring):
                    await self._look()
        return self._listening.ended(stream.retry_ms)

    async def _look(self) -> None:
        """A ring says that something may be claimed, and says it again: told is what is another page."""
        try:
            page = await self._changed()
        except RestanteError as error:
            log.info("look-failed error=%s", error)
            return
        if page is None:
            return
        self._etag, news = page.etag, self._looked or bool(page.events)
        self._looked = True
        if news:
            await self._tell()

    async def _changed(self) -> Page | None:
        if self._etag is None:
            return await self._client.read(**self._query())
        return await self._client.read_if_changed(self._etag, **self._query())

    async def _tell(self) -> None:
        await self.publish(ResourceUpdated(self._uri))
        for name, (_, session) in list(self._older.items()):
            try:
                await session.send_resource_updated(self._uri)
            except Exception:  # noqa: BLE001 - whatever a connection that has ended raises
                self._older.pop(name, None)

    def _query(self) -> dict[str, Any]:
        projects = self._desk.rules.projects
        return {"limit": SHOWN_AT_ONCE, "status": "open", "projects": projects}

"""A TCP proxy between two parties on loopback, whose wire can be cut, held and deafened.

It has a thread with an event loop of its own. What strikes a wire strikes the connections that are
open at that moment, and new ones until `heal`.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

T = TypeVar("T")
CHUNK = 64 * 1024
SLOW_SECONDS = 0.1


class Trouble(StrEnum):
    """What a wire has.

    `STALL_UP` and `STALL_DOWN`: bytes to or from the server wait, and go on once it is healed.
    `HALF_OPEN`: the server's end is closed, the client's stays open and silent until it is healed.
    `SLOW`: everything takes SLOW_SECONDS longer, each way.
    `DEAF`: requests arrive, their answers are lost; healing cuts what has lost any.
    `APART`: bytes wait both ways, as where a network is cut in two; they go on once it is healed.
    """

    STALL_UP = "stall_up"
    STALL_DOWN = "stall_down"
    HALF_OPEN = "half_open"
    SLOW = "slow"
    DEAF = "deaf"
    APART = "apart"


def _reset(end: asyncio.StreamWriter) -> None:
    if not end.transport.is_closing():
        linger = struct.pack("ii", 1, 0)
        end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        end.transport.abort()


def _everyone(_source: int) -> bool:
    return True


@dataclass(eq=False)
class _Wire:
    up: asyncio.StreamWriter
    down: asyncio.StreamWriter
    trouble: Trouble | None = None
    is_broken: bool = False

    @property
    def source(self) -> int:
        """The port that whoever opened it has at its end."""
        return int(self.down.get_extra_info("peername")[1])

    def holds(self, stall: Trouble) -> bool:
        """Tell whether bytes wait in the direction that `stall` stalls."""
        return self.trouble in (stall, Trouble.HALF_OPEN, Trouble.APART)

    def cut(self) -> None:
        """Reset both ends: a close without lingering sends RST and not FIN."""
        for end in (self.up, self.down):
            _reset(end)


@dataclass
class Proxy:
    """Listens on `port`, and passes everything to `target` on loopback."""

    target: int
    port: int = field(init=False)
    cuts: int = 0
    _trouble: Trouble | None = None
    _strikes: Callable[[int], bool] = _everyone
    _wires: set[_Wire] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._changed = asyncio.Event()
        self._server = self._run(self._listen())
        self.port = self._server.sockets[0].getsockname()[1]

    def cut(self) -> int:
        """Reset every open connection, both ends → how many there were."""
        return self._run(self._cut())

    def trouble(self, trouble: Trouble, strikes: Callable[[int], bool] = _everyone) -> int:
        """Have it from now on → how many connections are open.

        `strikes` tells by the port at its other end whether a connection has it.
        """
        self._strikes = strikes
        return self._run(self._set(trouble))

    def heal(self) -> None:
        """What waits goes on; what has lost bytes or its other end is reset."""
        self._run(self._set(None))

    def close(self) -> None:
        """Stop listening, cut everything, end the thread."""
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._accept, "127.0.0.1", 0)

    async def _cut(self) -> int:
        wires = list(self._wires)
        for wire in wires:
            wire.cut()
        self.cuts += len(wires)
        return len(wires)

    async def _set(self, trouble: Trouble | None) -> int:
        self._trouble = trouble
        for wire in self._wires:
            wire.trouble = self._of(wire)
            if wire.trouble is Trouble.HALF_OPEN:
                wire.is_broken = True
                _reset(wire.up)
            elif trouble is None and wire.is_broken:
                wire.cut()
        self._changed.set()
        self._changed = asyncio.Event()
        return len(self._wires)

    def _of(self, wire: _Wire) -> Trouble | None:
        return self._trouble if self._trouble and self._strikes(wire.source) else None

    async def _close(self) -> None:
        self._server.close()
        await self._cut()
        await self._set(None)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            writer.transport.abort()
            return
        for end in (writer, there[1]):
            end.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        wire = _Wire(up=there[1], down=writer)
        wire.trouble = self._of(wire)
        self._wires.add(wire)
        try:
            await asyncio.gather(
                self._pump(wire, reader, wire.up, Trouble.STALL_UP),
                self._pump(wire, there[0], wire.down, Trouble.STALL_DOWN),
            )
        finally:
            wire.cut()
            self._wires.discard(wire)

    async def _pump(
        self, wire: _Wire, source: asyncio.StreamReader, sink: asyncio.StreamWriter, stall: Trouble
    ) -> None:
        """Pass bytes on until one end is closed; then close the other, or keep it half open."""
        with contextlib.suppress(OSError):
            while data := await source.read(CHUNK):
                while wire.holds(stall):
                    wire.is_broken |= wire.trouble is Trouble.HALF_OPEN
                    await self._changed.wait()
                if wire.trouble is Trouble.SLOW:
                    await asyncio.sleep(SLOW_SECONDS)
                if wire.trouble is Trouble.DEAF and stall is Trouble.STALL_DOWN:
                    wire.is_broken = True
                    continue
                sink.write(data)
                await sink.drain()
        while wire.is_broken and wire.trouble is not None:
            await self._changed.wait()
        if sink.can_write_eof() and not sink.transport.is_closing():
            with contextlib.suppress(OSError):
                sink.write_eof()

"""An open doorbell: frames from a streamed answer, blocking and async."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Iterator

import httpx2

from restante_agent.errors import UnexpectedAnswer, Unreachable
from restante_agent.model.frame import Frame, frame_of
from restante_agent.transport import lost

# Frames are small; what is larger than this is not a doorbell.
_FRAME_LIMIT_BYTES = 65_536


class DoorbellStream:
    """Iterate it for frames; it ends when the server closes. `retry_ms`: the server's `retry:`."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.retry_ms: int | None = None

    def __iter__(self) -> Iterator[Frame]:
        try:
            for event in httpx2.EventSource(self._response, max_event_size=_FRAME_LIMIT_BYTES):
                self.retry_ms = event.retry if event.retry is not None else self.retry_ms
                if event.data or event.event != "message":
                    yield frame_of(event.event, event.data)
        except httpx2.SSEError as error:
            raise UnexpectedAnswer(f"this is no doorbell: {error}") from error
        except httpx2.TransportError as error:
            raise lost(error) from error
        except httpx2.StreamError as error:  # closed from another thread
            raise Unreachable("the stream was closed") from error

    def abort(self) -> None:
        """End the iteration from another thread: whoever waits for bytes sees the end of them."""
        stream = self._response.extensions.get("network_stream")
        raw = stream.get_extra_info("socket") if stream is not None else None
        if isinstance(raw, socket.socket):
            with contextlib.suppress(OSError):
                # Not raw.shutdown(): on a TLS socket that also drops state under the reader's feet.
                socket.socket.shutdown(raw, socket.SHUT_RDWR)


class AsyncDoorbellStream:
    """As `DoorbellStream`, for ``async for``."""

    def __init__(self, response: httpx2.Response) -> None:
        self._response = response
        self.retry_ms: int | None = None

    async def __aiter__(self) -> AsyncIterator[Frame]:
        try:
            source = httpx2.EventSource(self._response, max_event_size=_FRAME_LIMIT_BYTES)
            async for event in source:
                self.retry_ms = event.retry if event.retry is not None else self.retry_ms
                if event.data or event.event != "message":
                    yield frame_of(event.event, event.data)
        except httpx2.SSEError as error:
            raise UnexpectedAnswer(f"this is no doorbell: {error}") from error
        except httpx2.TransportError as error:
            raise lost(error) from error

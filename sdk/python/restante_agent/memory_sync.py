"""Keeps a `MemoryView` equal to the server's memory: the state once, then what has changed.

>>> view = MemoryView()
>>> catch_up(client, view)
"""

from __future__ import annotations

from restante_agent.async_client import AsyncClient
from restante_agent.client import Client
from restante_agent.memory_view import MemoryView
from restante_agent.runtime.script import play, play_async
from restante_agent.runtime.state_sync import catching_up


def catch_up(client: Client, view: MemoryView) -> None:
    """Take in all that has changed since the last time; the first time all there is."""
    play(client, catching_up(client.core, view))


async def catch_up_async(client: AsyncClient, view: MemoryView) -> None:
    """As `catch_up`."""
    await play_async(client, catching_up(client.core, view))

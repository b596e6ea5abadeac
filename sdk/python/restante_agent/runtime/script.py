"""A course of calls as a generator: it yields calls, and is sent their answers or refusals.

So what a runner does is written once, and played by the blocking or by the async client.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

from restante_agent.async_client import AsyncClient
from restante_agent.client import Client
from restante_agent.errors import RestanteError
from restante_agent.wire.call import Call

T = TypeVar("T")
Script = Generator[Call[Any], Any, T]


def play(client: Client, script: Script[T]) -> T:
    """Make the calls of `script`, one after the other; its value."""
    try:
        call = next(script)
        while True:
            try:
                answer = client.perform(call)
            except RestanteError as error:
                call = script.throw(error)
            else:
                call = script.send(answer)
    except StopIteration as end:
        value: T = end.value
        return value


async def play_async(client: AsyncClient, script: Script[T]) -> T:
    """As `play`."""
    try:
        call = next(script)
        while True:
            try:
                answer = await client.perform(call)
            except RestanteError as error:
                call = script.throw(error)
            else:
                call = script.send(answer)
    except StopIteration as end:
        value: T = end.value
        return value

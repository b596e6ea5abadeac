"""Makes a client's methods from the call builders, so that both clients have one definition each.

The signature and the docstring of a method are those of its builder, without the `core`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from restante_agent.wire.call import Call
from restante_agent.wire.core import Core

P = ParamSpec("P")
T = TypeVar("T")


class Blocking(Protocol):
    @property
    def core(self) -> Core: ...
    def perform(self, call: Call[T], /) -> T: ...


class Awaiting(Protocol):
    @property
    def core(self) -> Core: ...
    async def perform(self, call: Call[T], /) -> T: ...


def blocking(build: Callable[Concatenate[Core, P], Call[T]]) -> Callable[Concatenate[Any, P], T]:
    @wraps(build)
    def method(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.perform(build(self.core, *args, **kwargs))

    return method


def awaiting(
    build: Callable[Concatenate[Core, P], Call[T]],
) -> Callable[Concatenate[Any, P], Awaitable[T]]:
    @wraps(build)
    async def method(self: Awaiting, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.perform(build(self.core, *args, **kwargs))

    return method

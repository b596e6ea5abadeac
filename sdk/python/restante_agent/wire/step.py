"""What an exchange asks of its driver, and what the driver replies."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from restante_agent.errors import Unreachable
from restante_agent.wire.signature import Pen

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call, before anything is known of tokens and hosts.

    `path` is absolute and percent-encoded; `scope` names a scope the token must carry beyond what
    the client asks for by default; `hold_seconds` is how long the server may keep the answer back.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    scope: str | None = None
    hold_seconds: float = 0.0
    stream: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """Step: send this, signed with `pen`, reply with `Answer` or `Lost`.

    `read_seconds`: None waits for ever. `keep` is called with the answer before anything can come
    between, be it a Ctrl-C or a cancelled task: it holds what cannot be had again.
    """

    method: str
    url: str
    headers: Mapping[str, str]
    content: bytes | None
    read_seconds: float | None
    stream: bool = False
    pen: Pen | None = None
    keep: Callable[[Answer], None] | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Step: wait, reply with None."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Authorize:
    """Step: reply with an access token, not `rejected`. One at a time asks for a new one."""

    scope: str | None
    rejected: str | None


@dataclass(frozen=True, slots=True)
class Sign:
    """Step: reply with a `Pen` whose key is not `rejected`. One at a time makes a new key."""

    rejected: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A whole answer. Header names are lower case; the times are the driver's monotonic clock."""

    status: int
    headers: Mapping[str, str]
    content: bytes = b""
    sent_at: float = 0.0
    received_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Lost:
    """No answer came."""

    error: Unreachable


Step = Send | Pause | Authorize | Sign
Reply = Answer | Lost | Pen | str | None
Exchange = Generator[Step, Reply, T]


def loss_of(reply: Reply) -> Unreachable:
    """Why there is no answer, where a Send was replied to with something else than one."""
    if not isinstance(reply, Lost):
        raise TypeError(f"a driver replies to Send with Answer or Lost, not {reply!r}")
    return reply.error

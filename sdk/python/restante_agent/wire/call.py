"""A call: the request, how its answer is read, and which refusal of a retry means "it happened"."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from restante_agent import jsontext
from restante_agent.errors import ApiError, ConfigurationError, UnexpectedAnswer
from restante_agent.model.decode import decode
from restante_agent.wire.core import Core
from restante_agent.wire.step import Answer, Exchange, Request

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """`already` turns the refusal of a repeated call into the answer that got lost, or None."""

    request: Request
    read: Callable[[Answer], T]
    already: Callable[[ApiError], T | None] | None = None

    def exchange(self, core: Core) -> Exchange[T]:
        try:
            answer = yield from core.exchange(self.request)
        except ApiError as error:
            lost = self.already(error) if self.already and error.retried else None
            if lost is None:
                raise
            return lost
        return self.read(answer)


def document(answer: Answer) -> Any:
    """The JSON of a successful answer."""
    try:
        return jsontext.loads(answer.content)
    except ValueError as error:
        kind = answer.headers.get("content-type", "no content type")
        raise UnexpectedAnswer(
            f"HTTP {answer.status} with {kind} instead of JSON; is this URL a Restante server?"
        ) from error


def reader(kind: type[T], **extra: Callable[[Answer], Any]) -> Callable[[Answer], T]:
    """Reads an answer into `kind`; `extra` fills members from elsewhere than the body."""

    def read(answer: Answer) -> T:
        more = {name: of(answer) for name, of in extra.items()}
        return decode(kind, document(answer), more)

    return read


def sent_at(answer: Answer) -> float:
    return answer.sent_at


def segment(value: str, name: str) -> str:
    """One path segment; an empty one would name another resource."""
    if not value or value in (".", ".."):
        raise ConfigurationError(f"{name} must not be {value!r}")
    return quote(value, safe="")


def query(**members: object) -> tuple[tuple[str, str], ...]:
    """Query parameters without those that are None; lists joined by commas."""
    return tuple((name, _text(value)) for name, value in members.items() if value is not None)


def body(**members: object) -> dict[str, Any]:
    """A JSON object without the members that are None."""
    return {name: value for name, value in members.items() if value is not None}


def new_key() -> str:
    """128 random bits: a fresh Idempotency-Key or claim_id."""
    return secrets.token_hex(16)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable):
        return ",".join(str(item) for item in value)
    return str(value)

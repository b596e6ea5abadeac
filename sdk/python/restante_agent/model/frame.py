"""Frames of the doorbell (contract 5.1). A frame of an unknown kind is `Unknown`: ignore it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from restante_agent import jsontext
from restante_agent.model.decode import decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """First frame. Silence for 2.5 times `heartbeat_seconds` means that the stream is dead."""

    epoch: str = ""
    head: int = 0
    claimable: int = 0
    heartbeat_seconds: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ring:
    """``inbox_updated``: look into the inbox."""

    cursor_hint: int = 0


@dataclass(frozen=True, slots=True)
class Heartbeat:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconnect:
    """The server closes: shutdown, token_expired, replaced or lifetime. Come back later."""

    reason: str = ""
    retry_after_ms: int = 0


@dataclass(frozen=True, slots=True)
class Revoked:
    """Credential, grants or agent are no longer good."""


@dataclass(frozen=True, slots=True)
class Unknown:
    name: str


Frame = Ready | Ring | Heartbeat | Reconnect | Revoked | Unknown

_KINDS: dict[str, type[Any]] = {
    "ready": Ready,
    "inbox_updated": Ring,
    "heartbeat": Heartbeat,
    "reconnect": Reconnect,
    "revoked": Revoked,
}


def frame_of(name: str, data: str) -> Frame:
    """The frame for one server-sent event; UnexpectedAnswer when its data is wrong."""
    kind = _KINDS.get(name)
    if kind is None:
        return Unknown(name)
    try:
        members = jsontext.loads(data) if data else {}
    except ValueError:
        members = None
    frame: Frame = decode(kind, members)
    return frame

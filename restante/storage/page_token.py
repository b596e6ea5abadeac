"""Page tokens: where a list goes on, sealed to the list and to whom it was given. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import orjson
from sqlalchemy.orm import Session

from restante.errors import PageTokenInvalid

Row = TypeVar("Row")
PAGE_TOKEN_KEYS = "restante.page_token_keys"
"""Key of `session.info`: what tokens are sealed with, the same on every node, then what was before."""

_MAC_BYTES = 16
_NOBODYS = os.urandom(32)  # without a key, tokens are good in this process alone


def give(session: Session, of: tuple[str, ...], position: Any) -> str:
    """A token for a position (JSON) in the list that `of` names."""
    body = orjson.dumps(position)
    return _text(_macs(session, of, body)[0] + body)


def take(session: Session, of: tuple[str, ...], token: str | None) -> Any | None:
    """The position, None without a token; PageTokenInvalid for one not given out for this list."""
    if token is None:
        return None
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise PageTokenInvalid from None
    if _text(raw) != token:  # padding and unused bits say nothing, and were not given out
        raise PageTokenInvalid
    mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if not any(hmac.compare_digest(mac, known) for known in _macs(session, of, body)):
        raise PageTokenInvalid
    return orjson.loads(body)


def cut(
    session: Session, of: tuple[str, ...], rows: Sequence[Row], limit: int, at: Callable[[Row], Any]
) -> tuple[Sequence[Row], str | None]:
    """Of `limit` rows and one more those to show, and the token that goes on after the last of them."""
    shown = rows[:limit]
    return shown, give(session, of, at(shown[-1])) if len(rows) > limit else None


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _macs(session: Session, of: tuple[str, ...], body: bytes) -> list[bytes]:
    keys: Sequence[bytes] = session.info.get(PAGE_TOKEN_KEYS, (_NOBODYS,))
    text = "\0".join(of).encode() + b"\0" + body
    return [hmac.digest(key, text, hashlib.sha256)[:_MAC_BYTES] for key in keys]

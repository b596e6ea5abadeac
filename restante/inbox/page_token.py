"""Page tokens: where a list goes on, sealed to the list and to whom it was given. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from typing import Any

import orjson
from sqlalchemy.orm import Session

from restante.errors import PageTokenInvalid

PAGE_TOKEN_KEY = "restante.page_token_key"
"""Key of `session.info`: the bytes tokens are sealed with, the same on every node."""

_MAC_BYTES = 16
_NOBODYS = os.urandom(32)  # without a key, tokens are good in this process alone


def give(session: Session, of: tuple[str, ...], position: Any) -> str:
    """A token for a position (JSON) in the list that `of` names."""
    body = orjson.dumps(position)
    return base64.urlsafe_b64encode(_mac(session, of, body) + body).rstrip(b"=").decode()


def take(session: Session, of: tuple[str, ...], token: str | None) -> Any | None:
    """The position, None without a token; PageTokenInvalid for one not given out for this list."""
    if token is None:
        return None
    try:
        raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise PageTokenInvalid from None
    mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
    if not hmac.compare_digest(mac, _mac(session, of, body)):
        raise PageTokenInvalid
    return orjson.loads(body)


def _mac(session: Session, of: tuple[str, ...], body: bytes) -> bytes:
    key: bytes = session.info.get(PAGE_TOKEN_KEY, _NOBODYS)
    return hmac.digest(key, "\0".join(of).encode() + b"\0" + body, hashlib.sha256)[:_MAC_BYTES]

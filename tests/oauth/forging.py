"""Tokens bent out of shape: made from a good one, signed by the server's own key or by another."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from joserfc.jwk import OKPKey

from tests.oauth.conftest import Server


def encode(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def decode(part: str) -> bytes:
    return urlsafe_b64decode(part + "=" * (-len(part) % 4))


def header_of(token: str) -> dict[str, Any]:
    return dict(json.loads(decode(token.split(".", maxsplit=1)[0])))


def payload_of(token: str) -> dict[str, Any]:
    return dict(json.loads(decode(token.split(".")[1])))


def own_key(server: Server) -> OKPKey:
    """The private key that the server signs with."""
    opened = server.house.token_keys.keys._opened
    assert opened is not None
    return opened[1]


def signed(header: dict[str, Any] | bytes, payload: dict[str, Any] | bytes, key: OKPKey) -> str:
    """A token with an Ed25519 signature, whatever it says."""
    parts = [p if isinstance(p, bytes) else json.dumps(p).encode() for p in (header, payload)]
    message = ".".join(map(encode, parts))
    return f"{message}.{encode(key.private_key.sign(message.encode()))}"


def changed(server: Server, token: str, **changes: Any) -> str:
    """The token with other claims (None: left out), signed by the server's key."""
    payload = {**payload_of(token), **changes}
    kept = {name: value for name, value in payload.items() if value is not None}
    return signed(header_of(token), kept, own_key(server))


def with_header(server: Server, token: str, **changes: Any) -> str:
    """The token with other header members (None: left out), signed by the server's key."""
    header = {**header_of(token), **changes}
    kept = {name: value for name, value in header.items() if value is not None}
    return signed(kept, payload_of(token), own_key(server))


def refused(server: Server, token: str) -> bool:
    """Whether a token is refused exactly as any other bad one; raises if it is refused otherwise."""
    answer = server.call(token)
    if answer.status_code == 200:
        return False
    assert answer.status_code == 401, answer.text
    assert answer.headers["WWW-Authenticate"] == 'Bearer realm="restante", error="invalid_token"'
    assert answer.mimetype == "application/problem+json"
    assert (
        answer.json["detail"]
        == "No valid access token came: one lives ten minutes, and /oauth/token gives the next."
    )
    return True

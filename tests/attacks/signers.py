"""Agents that sign what they send, and what is sent otherwise than it was signed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.attacks.arena import JSON, Attacker
from tests.attacks.wire import Answer, bearer
from tests.http.signing import Signer

SCOPES = ("agent:a:read", "agent:a:claim", "agent:a:publish")


@dataclass(frozen=True)
class Signing:
    """An agent with a key."""

    who: Attacker
    signer: Signer

    def fields(self, method: str, path: str, body: bytes = b"", **how: Any) -> dict[str, str]:
        """Of a signed call by its token."""
        made = self.signer.fields(method, self.who.path(path), body, **how)
        return {**bearer(self.who.token), **(JSON if body else {}), **made}

    def call(self, method: str, path: str, body: bytes = b"", **how: Any) -> Answer:
        fields = self.fields(method, path, body, **how)
        return self.send(method, path, body, fields)

    def send(self, method: str, path: str, body: bytes, fields: Any) -> Answer:
        """With fields that were made for this call, or for another."""
        content = body if body or method == "POST" else None
        return self.who.wire.send(method, self.who.path(path), fields, content)


def minted(who: Attacker) -> Signing:
    """With a shared secret made by the server."""
    answer = who.call("POST", "A/signing-keys")
    assert answer.status == 201, answer.body
    return signing(who, answer.json["key_id"], answer.json["secret"])


def registered(who: Attacker, jwk: dict[str, str], key: Any) -> Signing:
    """With a key of its own."""
    answer = who.call("POST", "A/signing-keys", {"public_jwk": jwk})
    assert answer.status == 201, answer.body
    return signing(who, answer.json["key_id"], key)


def signing(who: Attacker, key_id: str, key: Any) -> Signing:
    return Signing(who, Signer(key_id, key, who.arena.issuer.removeprefix("http://")))

"""Deliveries' signatures of RFC 9421, of the one form that the server signs, and the keys they are by."""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

TAG = "restante-webhook"
TOLERANCE_SECONDS = 300
SKEW_SECONDS = 30
KEYS_KEPT_SECONDS = 300
"""As long as the server lets its key set be kept: a key that was removed at once is known no longer."""
KEYS_PAUSE_SECONDS = 10
REQUIRED = frozenset({"@method", "@authority", "@path", "content-digest", "webhook-id"})
_INPUT = re.compile(
    r'([a-z*][a-z0-9_.*-]*)=(\(((?:"[^"\\]*" ?)*)\)((?:;[a-z]+=(?:"[^"\\]*"|-?[0-9]{1,15}))*))'
)
_SIGNATURE = re.compile(r"([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):")
_PARAMETER = re.compile(r';([a-z]+)=(?:"([^"]*)"|(-?[0-9]+))')

Jwks = Mapping[str, Any]


class NotGenuine(Exception):
    """This is no delivery of the server's, or it is too old, or it was here before: answer 401."""


class KeySet:
    """The server's public keys, as given or as `source` gets them: anew where one is unknown or they are old.

    What `source` raises is raised: the delivery is answered by a failure of ours (5xx), and comes again.
    """

    def __init__(self, source: Jwks | Callable[[], Jwks], clock: Callable[[], float]) -> None:
        self._get = source if callable(source) else None
        self._clock = clock
        self._keys: Jwks = {} if callable(source) else source
        self._got_at = float("-inf")
        self._lock = threading.Lock()

    def find(self, kid: str) -> Ed25519PublicKey:
        """The key; raises NotGenuine."""
        with self._lock:
            self._renew(KEYS_KEPT_SECONDS)
            found = self._find(kid)
            if found is None and self._renew(KEYS_PAUSE_SECONDS):
                found = self._find(kid)
        if found is None:
            raise NotGenuine("the key is none of the server's: fetch /oauth/jwks.json again")
        return found

    def _renew(self, age_seconds: float) -> bool:
        now = self._clock()
        if self._get is None or now - self._got_at < age_seconds:
            return False
        self._keys, self._got_at = self._get(), now
        return True

    def _find(self, kid: str) -> Ed25519PublicKey | None:
        for jwk in self._keys.get("keys", ()):
            if jwk.get("kid") == kid and (jwk.get("kty"), jwk.get("crv")) == ("OKP", "Ed25519"):
                padded = jwk["x"] + "=" * (-len(jwk["x"]) % 4)
                return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(padded))
        return None


def check_message(
    keys: KeySet, method: str, url: str, *, fields: Mapping[str, str], body: bytes, now: float
) -> bytes:
    """The signature base that was signed, of which no two deliveries have the same; raises NotGenuine.

    `fields`: by lower-case name. `url`: as it was called.
    """
    told = _INPUT.fullmatch(fields.get("signature-input", ""))
    given = _SIGNATURE.fullmatch(fields.get("signature", ""))
    if told is None or given is None or told[1] != given[1]:
        raise NotGenuine("there is no signature of RFC 9421 that can be read")
    names = re.findall(r'"([^"]*)"', told[3])
    if not set(names) >= REQUIRED or ("?" in url) != ("@query" in names):
        raise NotGenuine("the signature does not cover the request")
    parameters: dict[str, str | int] = {
        name: int(number) if number else text for name, text, number in _PARAMETER.findall(told[4])
    }
    if parameters.get("tag") != TAG or len(set(names)) != len(names):
        raise NotGenuine("the signature is for something else")
    created, expires = parameters.get("created"), parameters.get("expires")
    if not isinstance(created, int) or not isinstance(expires, int):
        raise NotGenuine("the signature does not say when it was made")
    if not created - SKEW_SECONDS <= now <= min(expires, created + TOLERANCE_SECONDS):
        raise NotGenuine("the signature is too old, or in the future")
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    if fields.get("content-digest") != f"sha-256=:{digest}:":
        raise NotGenuine("the digest is not the body's")
    base = _base(names, told[2], method, url, fields)
    key = keys.find(str(parameters.get("keyid", "")))
    try:
        key.verify(base64.b64decode(given[2], validate=True), base)
    except (InvalidSignature, ValueError):
        raise NotGenuine(
            f"the signature is not right for {method} {url}: is it called so, by this host?"
        ) from None
    return base


def _base(names: list[str], params: str, method: str, url: str, fields: Mapping[str, str]) -> bytes:
    """RFC 9421 section 2.5."""
    parts = urlsplit(url)
    derived = {
        "@method": method,
        "@authority": parts.netloc.lower().removesuffix(":443"),
        "@path": parts.path or "/",
        "@query": f"?{parts.query}",
    }
    lines = [f'"{name}": {derived.get(name, fields.get(name, ""))}' for name in names]
    text = "\n".join([*lines, f'"@signature-params": {params}'])
    return text.encode("utf-8", "surrogatepass")

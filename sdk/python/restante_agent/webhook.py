"""The receiving side of webhooks: deliveries are verified, challenges are answered.

A function of what came in, so that any framework will do. Both signatures that a delivery carries are
checked where their keys are given: Standard Webhooks by the secret, RFC 9421 by the server's key set.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

TAG = "restante-webhook"
TOLERANCE_SECONDS = 300
REMEMBERED = 10_000
_INPUT = re.compile(r'([a-z*][a-z0-9_.*-]*)=(\(((?:"[^"]*" ?)*)\)((?:;[a-z]+=(?:"[^"]*"|-?\d+))*))')
_SIGNATURE = re.compile(r"([a-z*][a-z0-9_.*-]*)=:([A-Za-z0-9+/=]*):")
_PARAMETER = re.compile(r';([a-z]+)=(?:"([^"]*)"|(-?\d+))')


class NotGenuine(Exception):
    """This is no delivery of the server's, or it is too old, or it was here before: answer 401."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """`id`: the event's, the same at every repetition. `body`: what was posted, read."""

    id: str
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChallengeAnswer:
    """Answer 200 with this, as application/json."""

    body: bytes


@dataclass
class Receiver:
    """`secrets`: of the callback, the newest first. `jwks`: the server's key set, `{"keys": […]}`.

    Without `jwks` only the secrets are checked. A signature is taken once (`REMEMBERED` of them are
    kept): a repeated delivery is signed anew, and its `id` says that it is the same event.
    """

    secrets: Sequence[str] = field(repr=False)
    jwks: Mapping[str, Any] | None = None
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        if not self.secrets:
            raise ValueError("a receiver needs the callback's secret")
        self._keys = [_hmac_key(secret) for secret in self.secrets]
        self._seen: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def receive(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> Delivery | ChallengeAnswer:
        """What came. `url`: as it was called, with its query. Raises NotGenuine."""
        fields = {name.lower(): value.strip() for name, value in headers.items()}
        said = _object(body)
        if said.get("type") == "callback_challenge" and "webhook-id" not in fields:
            return self._answer(said)
        self._check_secret(fields, body)
        if self.jwks is not None:
            _check_message(self.jwks, method, url, fields, body, now=self.clock())
        self._take_once(fields["webhook-signature"])
        return Delivery(fields["webhook-id"], said)

    def _answer(self, said: Mapping[str, Any]) -> ChallengeAnswer:
        challenge = said.get("challenge")
        if type(challenge) is not str:
            raise NotGenuine("the challenge is none")
        mac = hmac.new(self._keys[0], challenge.encode(), hashlib.sha256).hexdigest()
        return ChallengeAnswer(json.dumps({"challenge_response": mac}).encode())

    def _check_secret(self, fields: Mapping[str, str], body: bytes) -> None:
        message_id, timestamp = fields.get("webhook-id", ""), fields.get("webhook-timestamp", "")
        if not message_id or not re.fullmatch(r"[0-9]{1,12}", timestamp):
            raise NotGenuine("webhook-id or webhook-timestamp is missing")
        if abs(self.clock() - int(timestamp)) > TOLERANCE_SECONDS:
            raise NotGenuine("webhook-timestamp is too old, or in the future")
        text = f"{message_id}.{timestamp}.".encode() + body
        wanted = [hmac.new(key, text, hashlib.sha256).digest() for key in self._keys]
        for part in fields.get("webhook-signature", "").split(" "):
            version, _, encoded = part.partition(",")
            given = _bytes(encoded) if version == "v1" else b""
            if any(hmac.compare_digest(given, mac) for mac in wanted):
                return
        raise NotGenuine("webhook-signature is none of the secret's")

    def _take_once(self, signature: str) -> None:
        digest = hashlib.sha256(signature.encode()).digest()
        with self._lock:
            if digest in self._seen:
                raise NotGenuine("it was here before")
            self._seen[digest] = None
            if len(self._seen) > REMEMBERED:
                self._seen.popitem(last=False)


def _check_message(
    jwks: Mapping[str, Any],
    method: str,
    url: str,
    fields: Mapping[str, str],
    body: bytes,
    *,
    now: float,
) -> None:
    """RFC 9421, of the one form that the server signs."""
    told = _INPUT.fullmatch(fields.get("signature-input", ""))
    given = _SIGNATURE.fullmatch(fields.get("signature", ""))
    if told is None or given is None or told[1] != given[1]:
        raise NotGenuine("there is no signature of RFC 9421 that can be read")
    names = re.findall(r'"([^"]*)"', told[3])
    parameters = {name: text or number for name, text, number in _PARAMETER.findall(told[4])}
    parts = urlsplit(url)
    required = {"@method", "@authority", "@path", "content-digest", "webhook-id"}
    if not required <= set(names) or ("?" in url) != ("@query" in names):
        raise NotGenuine("the signature does not cover the request")
    if parameters.get("tag") != TAG or len(set(names)) != len(names):
        raise NotGenuine("the signature is for something else")
    created, expires = (int(parameters.get(name) or 0) for name in ("created", "expires"))
    if not created - 30 <= now <= min(expires, created + TOLERANCE_SECONDS):
        raise NotGenuine("the signature is too old, or in the future")
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    if fields.get("content-digest") != f"sha-256=:{digest}:":
        raise NotGenuine("the digest is not the body's")
    authority = parts.netloc.lower().removesuffix(":443")
    derived = {
        "@method": method,
        "@authority": authority,
        "@path": parts.path or "/",
        "@query": f"?{parts.query}",
    }
    lines = [f'"{name}": {derived.get(name, fields.get(name, ""))}' for name in names]
    base = "\n".join([*lines, f'"@signature-params": {told[2]}'])
    key = _public_key(jwks, parameters.get("keyid", ""))
    try:
        key.verify(_bytes(given[2]), base.encode())
    except InvalidSignature:
        raise NotGenuine("the signature is not right") from None


def _public_key(jwks: Mapping[str, Any], kid: str) -> Ed25519PublicKey:
    for jwk in jwks.get("keys", ()):
        if jwk.get("kid") == kid and (jwk.get("kty"), jwk.get("crv")) == ("OKP", "Ed25519"):
            padded = jwk["x"] + "=" * (-len(jwk["x"]) % 4)
            return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(padded))
    raise NotGenuine("the key is none of the server's: fetch /oauth/jwks.json again")


def _hmac_key(secret: str) -> bytes:
    if secret.startswith("whsec_"):
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    return secret.encode()


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""


def _object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict):
        raise NotGenuine("the body is no JSON object")
    return said

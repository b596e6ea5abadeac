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

from restante_agent.webhook_message import (
    TOLERANCE_SECONDS,
    Jwks,
    KeySet,
    NotGenuine,
    check_message,
)

__all__ = ["ChallengeAnswer", "Delivery", "NotGenuine", "Receiver"]

# A challenge is answered with the MAC that a signature of Standard Webhooks is too, of a text that has
# dots. Who could have any text answered could sign deliveries.
_CHALLENGE = re.compile(r"[A-Za-z0-9_~+/=-]{1,256}")


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
    """`secrets`: of the callback, the newest first; both of them while they rotate.

    `jwks`: the server's key set, `{"keys": […]}`, or what gets it (its `/oauth/jwks.json`); without it only
    the secrets are checked. A delivery is taken once, as long as its signature holds; one that is sent
    again is signed anew, and its `id` says that it is the same event.
    """

    secrets: Sequence[str] = field(repr=False)
    jwks: Jwks | Callable[[], Jwks] | None = None
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        if not self.secrets or isinstance(self.secrets, str):
            raise ValueError("a receiver needs the callback's secrets, the newest first")
        self._keys = [_hmac_key(secret) for secret in self.secrets]
        self._server = None if self.jwks is None else KeySet(self.jwks, self.clock)
        self._seen: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def receive(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes
    ) -> Delivery | ChallengeAnswer:
        """What came. `url`: as it was called, with its query. Raises NotGenuine."""
        fields = {name.lower(): value.strip() for name, value in headers.items()}
        said = _object(body)
        if said.get("type") == "callback_challenge" and "webhook-id" not in fields:
            return self._answer(said)
        signed = self._check_secret(fields, body)
        if self._server is not None:
            signed = check_message(
                self._server, method, url, fields=fields, body=body, now=self.clock()
            )
        self._take_once(signed)
        return Delivery(fields["webhook-id"], said)

    def _answer(self, said: Mapping[str, Any]) -> ChallengeAnswer:
        challenge = said.get("challenge")
        if type(challenge) is not str or not _CHALLENGE.fullmatch(challenge):
            raise NotGenuine("the challenge is none")
        mac = hmac.new(self._keys[0], challenge.encode(), hashlib.sha256).hexdigest()
        return ChallengeAnswer(json.dumps({"challenge_response": mac}).encode())

    def _check_secret(self, fields: Mapping[str, str], body: bytes) -> bytes:
        """What was signed, by Standard Webhooks."""
        message_id, timestamp = fields.get("webhook-id", ""), fields.get("webhook-timestamp", "")
        if not message_id or not re.fullmatch(r"[0-9]{1,12}", timestamp):
            raise NotGenuine("webhook-id or webhook-timestamp is missing")
        if abs(self.clock() - int(timestamp)) > TOLERANCE_SECONDS:
            raise NotGenuine("webhook-timestamp is too old, or in the future")
        text = f"{message_id}.{timestamp}.".encode("utf-8", "surrogatepass") + body
        wanted = [hmac.new(key, text, hashlib.sha256).digest() for key in self._keys]
        for part in fields.get("webhook-signature", "").split(" "):
            version, _, encoded = part.partition(",")
            given = _bytes(encoded) if version == "v1" else b""
            if any(hmac.compare_digest(given, mac) for mac in wanted):
                return text
        raise NotGenuine("webhook-signature is none of the secret's")

    def _take_once(self, signed: bytes) -> None:
        """By what was signed, and not by the signature: that may be written in another way."""
        digest, now = hashlib.sha256(signed).digest(), self.clock()
        with self._lock:
            while self._seen and next(iter(self._seen.values())) < now:
                self._seen.popitem(last=False)
            if digest in self._seen:
                raise NotGenuine("it was here before")
            self._seen[digest] = now + 2 * TOLERANCE_SECONDS


def _hmac_key(secret: str) -> bytes:
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise ValueError("a secret begins with whsec_, and what follows is no base64") from None


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

"""A server that takes signed requests only, checked by the engine's own verifier, behind httpx2."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import UTC, datetime
from email.utils import formatdate
from typing import Any

import httpx2

from blueprints.problems import kind_of
from restante.errors import RestanteError
from restante.identity.signatures.keys import Algorithm, VerifyingKey
from restante.identity.signatures.message import Message
from restante.identity.signatures.verification import Spending, verify

AGENT = "agt_" + "1" * 32
ORIGIN = "http://localhost:8000"
DAY = 86_400
COUNTS = ("pending", "claimable", "scheduled", "claimed", "quarantined", "oldest_cursor", "streams")
ANYTHING: dict[str, Any] = {
    **dict.fromkeys(COUNTS, 0),
    "head": 7,
    "epoch": "e",
    "oldest_pending_age_seconds": None,
    "last_seen_at": None,
    "events": [],
    "claim_id": "c",
    "next_poll_ms": 1000,
    "next_page_token": None,
}
"""Enough for whatever was asked."""


class Gate:
    """`now`: its clock, in seconds since 1970. It has at most four keys, and tells what it saw."""

    def __init__(self, now: float = 1_900_000_000.0) -> None:
        self.now = now
        self.keys: dict[str, VerifyingKey] = {}
        self.spent: set[tuple[str, str]] = set()
        self.seen: Counter[str] = Counter()
        self.signers: list[str] = []
        self.stumbles = 0

    def transport(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self.answer)

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        path = request.url.path
        if path == "/oauth/token":
            self.seen["token"] += 1
            number = self.seen["token"]
            return self._reply(200, access_token=f"t{number}", token_type="Bearer", expires_in=600)
        if path.endswith("/signing-keys"):
            return self._mint(request)
        slug = self._refusal(request)
        self.seen[slug or "taken"] += 1
        if slug is None and self.stumbles:
            self.stumbles -= 1
            return self._problem("overloaded", 503)
        if slug is not None:
            return self._problem(slug, 400 if slug.startswith("digest") else 401)
        return self._reply(200, **ANYTHING)

    def _mint(self, request: httpx2.Request) -> httpx2.Response:
        self.seen["mint"] += 1
        if request.headers["authorization"] != f"Bearer t{self.seen['token']}":
            return self._problem("token-too-old", 403)
        if len(self.keys) >= 4:
            return self._problem("too-many-keys", 409)
        key_id, secret = f"key_{self.seen['mint']}", "s" * 43
        self.keys[key_id] = VerifyingKey.of(key_id, Algorithm.HMAC_SHA256, secret.encode())
        return self._reply(
            201,
            key_id=key_id,
            algorithm="hmac-sha256",
            secret=secret,
            expires_at=_instant(self.now + DAY),
        )

    def _refusal(self, request: httpx2.Request) -> str | None:
        fields: defaultdict[str, list[str]] = defaultdict(list)
        for name, value in request.headers.multi_items():
            fields[name.lower()].append(value)
        message = Message(
            method=request.method,
            target=request.url.raw_path.decode(),
            host=request.headers["host"],
            origin=ORIGIN,
            fields=fields,
        )
        try:
            key = verify(
                message,
                now=self.now,
                find_key=self.keys.get,
                read_content=lambda: request.content,
                spend_nonce=self._spend,
            )
        except RestanteError as error:
            return kind_of(type(error)).slug
        self.signers.append(key.key_id)
        return None

    def _spend(self, spending: Spending) -> bool:
        pair = (spending.key.key_id, spending.nonce)
        is_new = pair not in self.spent
        self.spent.add(pair)
        return is_new

    def _problem(self, slug: str, status: int) -> httpx2.Response:
        return self._reply(status, "problem+json", type=f"/problems/{slug}", status=status)

    def _reply(self, status: int, kind: str = "json", /, **members: Any) -> httpx2.Response:
        headers = {
            "content-type": f"application/{kind}",
            "date": formatdate(self.now, usegmt=True),
        }
        return httpx2.Response(status, headers=headers, content=json.dumps(members).encode())


def _instant(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

"""An identity provider on loopback that says whatever a test has it say, right by default."""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote_plus, urlsplit

from joserfc import jws
from joserfc.jwk import ECKey, RSAKey

CLIENT_ID, CLIENT_SECRET = "restante", "s3cret/with:signs"
SUBJECT, EMAIL = "subject-1", "ops@example.com"


@dataclass
class Grant:
    """What was asked for, and what is answered. Of claims: None leaves out, a timedelta is from now on."""

    asked: dict[str, str]
    claims: dict[str, Any] = field(default_factory=dict)
    userinfo: dict[str, Any] = field(default_factory=dict)
    make: Callable[[dict[str, Any]], str] | None = None


class RogueProvider:
    """Serves from a thread; `close` ends it."""

    def __init__(self) -> None:
        self.key = first_key()
        self.kid = "first"
        self.ahead_seconds = 0
        self.discovery: dict[str, Any] = {}
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.grants: dict[str, Grant] = {}
        self.tokens: dict[str, Grant] = {}
        self.calls: list[str] = []
        self.hang = threading.Event()
        self.hang.set()
        self.keys: list[dict[str, Any]] = [self.jwk(self.key, self.kid)]
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._reply(*provider.answer(self, b""))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self._reply(*provider.answer(self, body))

            def _reply(self, status: int, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]  # callers hang up on it
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.hang.set()
        self._server.shutdown()
        self._server.server_close()

    @staticmethod
    def jwk(key: RSAKey | ECKey, kid: str) -> dict[str, Any]:
        return {**key.as_dict(private=False), "kid": kid, "use": "sig"}

    def answer(self, asked: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes]:
        path = urlsplit(asked.path).path
        self.calls.append(path)
        self.hang.wait(30)
        if path in self.answers:
            return self.answers[path]
        if path == "/.well-known/openid-configuration":
            return 200, json.dumps(self._discovery()).encode()
        if path == "/jwks":
            return 200, json.dumps({"keys": self.keys}).encode()
        if path == "/token":
            return self._token(asked, dict(parse_qsl(body.decode())))
        if path == "/userinfo":
            token = asked.headers.get("Authorization", "").removeprefix("Bearer ")
            return 200, json.dumps({"sub": SUBJECT, **self.tokens[token].userinfo}).encode()
        return 404, b"{}"

    def approve(
        self,
        url: str,
        *,
        make: Callable[[dict[str, Any]], str] | None = None,
        userinfo: dict[str, Any] | None = None,
        **claims: Any,
    ) -> dict[str, str]:
        """As if a person had signed in there; the parameters to come back with."""
        asked = dict(parse_qsl(urlsplit(url).query))
        code = secrets.token_urlsafe(16)
        self.grants[code] = Grant(asked, claims, userinfo or {}, make)
        return {"code": code, "state": asked["state"]}

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        """A token as it should be, but for what the header is told to say."""
        full = {"alg": "RS256", "kid": self.kid, **header}
        full = {name: value for name, value in full.items() if value is not None}
        algorithms = [full["alg"]]
        return jws.serialize_compact(full, json.dumps(claims), self.key, algorithms=algorithms)

    def _discovery(self) -> dict[str, Any]:
        own = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/jwks",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "code_challenge_methods_supported": ["S256"],
            "id_token_signing_alg_values_supported": ["RS256", "ES256"],
        }
        merged = {**own, **self.discovery}
        return {name: value for name, value in merged.items() if value is not None}

    def _token(self, asked: BaseHTTPRequestHandler, form: dict[str, str]) -> tuple[int, bytes]:
        sent = b64decode(asked.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        pair = [unquote_plus(part) for part in sent.split(":")]
        grant = self.grants.pop(form.get("code", ""), None)
        if pair != [CLIENT_ID, CLIENT_SECRET]:
            return 401, b'{"error": "invalid_client"}'
        if grant is None or form["redirect_uri"] != grant.asked["redirect_uri"]:
            return 400, b'{"error": "invalid_grant"}'
        if challenge(form["code_verifier"]) != grant.asked["code_challenge"]:
            return 400, b'{"error": "invalid_grant"}'
        now = int(time.time()) + self.ahead_seconds
        claims = {
            "iss": self.issuer,
            "aud": CLIENT_ID,
            "sub": SUBJECT,
            "iat": now,
            "exp": now + 300,
            "nonce": grant.asked["nonce"],
            "email": EMAIL,
            "email_verified": True,
            "auth_time": now,
            **grant.claims,
        }
        claims = {
            name: now + int(value.total_seconds()) if isinstance(value, timedelta) else value
            for name, value in claims.items()
            if value is not None
        }
        token = secrets.token_urlsafe(16)
        self.tokens[token] = grant
        id_token = (grant.make or self.sign)(claims)
        said = {"access_token": token, "token_type": "Bearer", "id_token": id_token}
        return 200, json.dumps(said).encode()


@cache
def first_key() -> RSAKey:
    """One for all tests of a process: making one takes a while."""
    return RSAKey.generate_key(2048)


def challenge(verifier: str) -> str:
    """RFC 7636, section 4.2."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()

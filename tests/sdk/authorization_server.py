"""A small authorization server, written from RFC 8628, RFC 8414 and RFC 9700, behind httpx2."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import httpx2

from tests.sdk.fake_answers import AGENT

BASE = "http://localhost:8000"
DEVICE = "urn:ietf:params:oauth:grant-type:device_code"
GRACE_SECONDS = 10
LIFE_SECONDS = 600


@dataclass
class Authorization:
    """`now` is its clock, `decision` what an operator has said (None: nothing yet).

    `break_next`: what becomes of the next answers of the token endpoint, which did what was asked.
    """

    now: Callable[[], float]
    decision: str | None = None
    interval: float = 5
    subject: str = AGENT
    break_next: list[Callable[[httpx2.Request], httpx2.Response]] = field(default_factory=list)
    metadata: dict[str, object] = field(default_factory=dict)
    asked: list[dict[str, str]] = field(default_factory=list)
    polled_at: list[float] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    spent: dict[str, tuple[str, float]] = field(default_factory=dict)
    alive: set[str] = field(default_factory=set)
    issued: int = 0

    def transport(self) -> httpx2.MockTransport:
        return httpx2.MockTransport(self.answer)

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        form = {k: v[0] for k, v in parse_qs(request.content.decode()).items()}
        path = request.url.path
        if path == "/.well-known/oauth-authorization-server":
            return _reply(200, **self.described())
        if path == "/oauth/device_authorization":
            self.asked.append(form)
            return _reply(
                200,
                device_code="rstd_device",
                user_code="BCDFG-HJKLM",
                verification_uri=f"{BASE}/device",
                verification_uri_complete=f"{BASE}/device?user_code=BCDFG-HJKLM",
                expires_in=600,
                interval=self.interval,
            )
        if path == "/oauth/revoke":
            self.revoked.append(form["token"])
            return httpx2.Response(200)
        if path == "/oauth/token":
            self.asked.append(form)
            made = self._token(form)
            return self.break_next.pop(0)(request) if self.break_next else made
        assert request.headers["authorization"].startswith("Bearer ")
        return _reply(200, authorization=request.headers["authorization"])

    def described(self) -> dict[str, object]:
        return {
            "issuer": BASE,
            "token_endpoint": f"{BASE}/oauth/token",
            "device_authorization_endpoint": f"{BASE}/oauth/device_authorization",
            "revocation_endpoint": f"{BASE}/oauth/revoke",
            **self.metadata,
        }

    def new_refresh_token(self) -> str:
        self.issued += 1
        token = f"rstr_{self.issued}"
        self.alive.add(token)
        return token

    def _token(self, form: dict[str, str]) -> httpx2.Response:
        if form["grant_type"] == DEVICE:
            return self._polled(form)
        assert form["grant_type"] == "refresh_token"
        presented = form["refresh_token"]
        if presented in self.alive:
            self.alive.remove(presented)
            child = self.new_refresh_token()
            self.spent[presented] = (child, self.now())
            return self._issue(child)
        child, spent_at = self.spent.get(presented, ("", 0.0))
        if child in self.alive and self.now() - spent_at <= GRACE_SECONDS:
            return self._issue(child)
        self.alive.clear()
        return _reply(400, error="invalid_grant")

    def _polled(self, form: dict[str, str]) -> httpx2.Response:
        assert form["device_code"] == "rstd_device"
        early = bool(self.polled_at) and self.now() - self.polled_at[-1] < self.interval
        self.polled_at.append(self.now())
        if early:
            self.interval += 5
            return _reply(400, error="slow_down")
        if self.decision == "approve":
            return self._issue(self.new_refresh_token())
        return _reply(400, error=self.decision or "authorization_pending")

    def _issue(self, refresh_token: str) -> httpx2.Response:
        claims = base64.urlsafe_b64encode(json.dumps({"sub": self.subject}).encode()).decode()
        return _reply(
            200,
            access_token=f"e.{claims.rstrip('=')}.{refresh_token}-{len(self.asked)}",
            token_type="Bearer",
            expires_in=LIFE_SECONDS,
            refresh_token=refresh_token,
            scope="agent:demo:read",
        )


def broken(request: httpx2.Request) -> httpx2.Response:
    """The connection breaks: the answer was on its way."""
    raise httpx2.ReadError("reset", request=request)


def refusing(
    status: int, error: str, **headers: str
) -> Callable[[httpx2.Request], httpx2.Response]:
    return lambda _: _reply(status, error=error, headers=headers)


def _reply(
    status: int, *, headers: dict[str, str] | None = None, **members: object
) -> httpx2.Response:
    return httpx2.Response(status, json=members, headers=headers)

"""Access tokens by client_credentials with client_secret_basic (RFC 6749 2.3.1, 4.4)."""

from __future__ import annotations

import base64
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from restante_agent import jsontext
from restante_agent.errors import (
    InvalidClient,
    InvalidScope,
    OAuthError,
    RestanteError,
    UnexpectedAnswer,
)
from restante_agent.problem import error_of
from restante_agent.version import __version__
from restante_agent.wire.step import Answer, Send

TOKEN_PATH = "/oauth/token"
USER_AGENT = f"restante-agent/{__version__} python/{platform.python_version()}"


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """A machine principal's id and secret; the secret is in no repr and no message.

    `scope` (space separated) is asked for in every token; None asks for the server's default: an
    agent's `read` and `claim`, everything a service has.
    """

    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None

    def basic(self) -> str:
        """Value of the Authorization header; both parts form-encoded first, as RFC 6749 asks."""
        pair = f"{quote(self.client_id, safe='')}:{quote(self.client_secret, safe='')}"
        return "Basic " + base64.b64encode(pair.encode()).decode()

    @property
    def principal_id(self) -> str:
        return self.client_id

    def form(self, scope: str | None) -> dict[str, str]:
        fields = {"grant_type": "client_credentials"}
        if scope:
            fields["scope"] = scope
        return fields


@dataclass(frozen=True, slots=True)
class Token:
    """`refresh_at` and `expires_at` are on the driver's monotonic clock."""

    value: str = field(repr=False)
    expires_at: float
    refresh_at: float
    scope: str = ""


def token_from(answer: Answer) -> Token:
    """The token of a 200. It is renewed a minute before its end, or at 80 % of a shorter life.

    Its age counts from when the request left, which is never later than its issue.
    """
    try:
        members = jsontext.loads(answer.content)
        value, life = members["access_token"], float(members.get("expires_in", 300))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnexpectedAnswer("the token endpoint answered 200 without a token") from error
    if not isinstance(value, str) or str(members.get("token_type", "")).lower() != "bearer":
        raise UnexpectedAnswer("the token endpoint answered with something but a bearer token")
    return token_of(value, life, answer.sent_at, scope=str(members.get("scope") or ""))


def token_of(value: str, life_seconds: float, issued_at: float, *, scope: str) -> Token:
    """A token that was issued at this time of the driver's clock, or later."""
    return Token(
        value=value,
        expires_at=issued_at + life_seconds,
        refresh_at=issued_at + max(life_seconds - 60.0, life_seconds * 0.8),
        scope=scope,
    )


def form_post(
    url: str,
    fields: Mapping[str, str],
    *,
    read_seconds: float,
    authorization: str | None = None,
    keep: Callable[[Answer], None] | None = None,
) -> Send:
    """A request to an OAuth endpoint: parameters are in the body, never in the address."""
    headers = {
        "accept": "application/json",
        "content-type": "application/x-www-form-urlencoded",
        "user-agent": USER_AGENT,
    }
    if authorization is not None:
        headers["authorization"] = authorization
    return Send(
        method="POST",
        url=url,
        headers=headers,
        content=urlencode(fields).encode(),
        read_seconds=read_seconds,
        keep=keep,
    )


def token_error(answer: Answer) -> RestanteError:
    """The error of a token answer of 400 or above (RFC 6749 5.2)."""
    if answer.status == 429 or answer.status >= 500:
        return error_of(answer.status, answer.headers, answer.content)
    try:
        members = jsontext.loads(answer.content)
        code, text = str(members["error"]), str(members.get("error_description") or "")
    except (ValueError, KeyError, TypeError, AttributeError):
        return error_of(answer.status, answer.headers, answer.content)
    kinds: dict[str, type[OAuthError]] = {
        "invalid_client": InvalidClient,
        "invalid_scope": InvalidScope,
    }
    return kinds.get(code, OAuthError)(code, text, status=answer.status)

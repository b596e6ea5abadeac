"""The device authorization grant (RFC 8628) from the device's side, without I/O."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from restante_agent import jsontext
from restante_agent.errors import (
    LoginRefused,
    OAuthError,
    RateLimited,
    RestanteError,
    ServerFailure,
    UnexpectedAnswer,
    Unreachable,
)
from restante_agent.wire.step import Answer, Exchange, Pause, Reply, Send, loss_of
from restante_agent.wire.token import USER_AGENT, form_post, token_error

GRANT_TYPE = "urn:ietf:params:oauth:grant-type:device_code"
METADATA_PATH = "/.well-known/oauth-authorization-server"
INTERVAL_SECONDS = 5.0
SLOWER_SECONDS = 5.0
_MOST_INTERVAL_SECONDS = 60.0
_READ_SECONDS = 15.0
_REFUSED = {
    "access_denied": "an operator has refused this login",
    "expired_token": "nobody has approved this login in time: log in again",
    "invalid_grant": "this login is over, or its answer was lost on the way: log in again",
}


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Where a server's OAuth is (RFC 8414)."""

    token: str
    device: str | None
    revocation: str | None


@dataclass(frozen=True, slots=True)
class Codes:
    """What a person is shown, and what the device asks with."""

    device_code: str = field(repr=False)
    user_code: str
    verification_uri: str
    verification_uri_complete: str | None
    expires_in_seconds: float
    interval_seconds: float


def discovered(base_url: str) -> Exchange[Endpoints]:
    """The server's own word about its endpoints, all of which must be its own."""
    reply = yield Send(
        method="GET",
        url=base_url + METADATA_PATH,
        headers={"accept": "application/json", "user-agent": USER_AGENT},
        content=None,
        read_seconds=_READ_SECONDS,
    )
    members = _members(reply, "its OAuth endpoints")
    issuer = members.get("issuer")
    if issuer != base_url:  # RFC 8414, section 3.3
        raise UnexpectedAnswer(
            f"the server at {base_url} says that it is {issuer!r}: give that address with --url"
        )
    return Endpoints(
        _own(members.get("token_endpoint"), base_url),
        _own(members["device_authorization_endpoint"], base_url)
        if "device_authorization_endpoint" in members
        else None,
        _own(members["revocation_endpoint"], base_url)
        if "revocation_endpoint" in members
        else None,
    )


def begun(
    endpoints: Endpoints, client_id: str, *, scopes: Collection[str], host: str
) -> Exchange[Codes]:
    """Codes for this device; `host` is what the operator sees of it."""
    if endpoints.device is None:
        raise UnexpectedAnswer("this server lets no device log in: use a client secret")
    fields = {"client_id": client_id, "host": host}
    if scopes:
        fields["scope"] = " ".join(scopes)
    reply = yield form_post(endpoints.device, fields, read_seconds=_READ_SECONDS)
    members = _members(reply, "codes for this device")
    try:
        codes = Codes(
            device_code=_text(members["device_code"]),
            user_code=_text(members["user_code"]),
            verification_uri=_text(members["verification_uri"]),
            verification_uri_complete=members.get("verification_uri_complete"),
            expires_in_seconds=float(members["expires_in"]),
            interval_seconds=float(members.get("interval") or INTERVAL_SECONDS),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UnexpectedAnswer("the server's codes for this device cannot be read") from error
    return codes


def approved(
    endpoints: Endpoints, client_id: str, codes: Codes, *, keep: Callable[[Answer], None]
) -> Exchange[None]:
    """Ask until an operator has decided; the answer with the tokens is handed to `keep`.

    Raises LoginRefused when he says no or the time is over, and other refusals as they are.
    """
    kept: list[Answer] = []

    def once(answer: Answer) -> None:
        if answer.status == 200:
            keep(answer)
            kept.append(answer)

    interval, left = max(codes.interval_seconds, 1.0), codes.expires_in_seconds
    fields = {
        "grant_type": GRANT_TYPE,
        "device_code": codes.device_code,
        "client_id": client_id,
    }
    pause = interval
    while left >= 0:
        yield Pause(pause)
        left -= pause
        reply = yield form_post(endpoints.token, fields, read_seconds=_READ_SECONDS, keep=once)
        if kept:
            return
        error = token_error(reply) if isinstance(reply, Answer) else loss_of(reply)
        interval = _slower(error, interval)
        pause = interval
        if isinstance(error, RateLimited | ServerFailure):
            pause = max(interval, error.retry_after_seconds or 0.0)
    raise LoginRefused("expired_token", _REFUSED["expired_token"])


def revoked(endpoints: Endpoints, client_id: str, refresh_token: str) -> Exchange[None]:
    """Give a login back (RFC 7009): its tokens end, on all machines that have them."""
    if endpoints.revocation is None:
        raise UnexpectedAnswer("this server takes no login back; `--local` forgets it here")
    fields = {
        "token": refresh_token,
        "token_type_hint": "refresh_token",
        "client_id": client_id,
    }
    reply = yield form_post(endpoints.revocation, fields, read_seconds=_READ_SECONDS)
    if not isinstance(reply, Answer):
        raise loss_of(reply)
    if reply.status != 200:
        raise token_error(reply)


def _slower(error: RestanteError, interval: float) -> float:
    """The pace after an answer that holds no tokens; raises what waiting does not mend."""
    if isinstance(error, OAuthError):
        if error.error == "authorization_pending":
            return interval
        if error.error == "slow_down":
            return interval + SLOWER_SECONDS
        if error.error in _REFUSED:
            raise LoginRefused(error.error, _REFUSED[error.error], status=error.status)
        raise error
    if isinstance(error, Unreachable):  # RFC 8628, section 3.5: back off
        return max(interval, min(interval * 2, _MOST_INTERVAL_SECONDS))
    if isinstance(error, RateLimited | ServerFailure):
        return interval
    raise error


def _members(reply: Reply, what: str) -> dict[str, Any]:
    if not isinstance(reply, Answer):
        raise loss_of(reply)
    if reply.status >= 400:
        raise token_error(reply)
    try:
        members = jsontext.loads(reply.content)
    except ValueError as error:
        raise UnexpectedAnswer(f"the server did not tell {what}; is it Restante's?") from error
    if reply.status != 200 or not isinstance(members, dict):
        raise UnexpectedAnswer(f"the server did not tell {what}; is it Restante's?")
    return members


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(value)
    return value


def _own(url: object, base_url: str) -> str:
    """An endpoint at another origin gets no token of ours."""
    if not isinstance(url, str) or not url.startswith(base_url + "/") or urlsplit(url).fragment:
        raise UnexpectedAnswer(f"the server's OAuth endpoints are elsewhere: {url!r}")
    return url

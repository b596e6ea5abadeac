"""Access tokens of a login that an agent's processes share: one of them refreshes (RFC 6749, section 6)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from restante_agent import jsontext
from restante_agent.errors import (
    LoginBusy,
    LoginEnded,
    OAuthError,
    RestanteError,
    ServerFailure,
    UnexpectedAnswer,
    Unreachable,
)
from restante_agent.wire.retry import RetryPolicy
from restante_agent.wire.step import Answer, Exchange, Pause, loss_of
from restante_agent.wire.token import (
    TOKEN_PATH,
    Token,
    form_post,
    token_error,
    token_from,
    token_of,
)

ANSWER_SECONDS = 4.0
"""How long an answer is waited for: for 10 s the server repeats one that was lost, so it must be
asked for again well within them."""
REPEATS = 2
"""How often it is, whatever the retry policy says: a login hangs on it."""
_REPEAT_SECONDS = 0.5
_SERVER_SECONDS = 2.0
LOCK_SECONDS = 30.0
_CLOCK_SECONDS = 1.0
_LOCK_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Kept:
    """What the processes share. `expires_at` of the access token: seconds since 1970, by this machine."""

    refresh_token: str = field(repr=False)
    client_id: str
    access_token: str = field(default="", repr=False)
    scope: str = ""
    life_seconds: float = 0.0
    expires_at: float = 0.0


class Shelf(Protocol):
    """Where one login is kept. All but `read` is done by whoever holds the lock."""

    @property
    def base_url(self) -> str: ...
    @property
    def agent_id(self) -> str: ...
    def read(self) -> Kept | None:
        """What is kept now; None where there is no login (any more)."""

    def write(self, kept: Kept) -> None:
        """Keep this instead; it is safe when this returns."""

    def forget(self) -> None:
        """Keep nothing."""

    def try_lock(self) -> bool:
        """Whether this process, and in it this object, may change what is kept. Does not wait."""

    def unlock(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Login:
    """A kept login as a client's credentials, with the client's clocks."""

    shelf: Shelf
    monotonic: Callable[[], float]
    wall: Callable[[], float]

    @property
    def principal_id(self) -> str:
        return self.shelf.agent_id

    def shared(self, kept: Kept, rejected: str | None) -> Token | None:
        """The access token that another process has got, where it is good for a while."""
        left = kept.expires_at - self.wall()
        if not kept.access_token or kept.access_token == rejected:
            return None
        if not 0 < left <= kept.life_seconds + _CLOCK_SECONDS:  # more: the clock was set back
            return None
        now = self.monotonic()
        issued_at = now - (kept.life_seconds - left)
        token = token_of(kept.access_token, kept.life_seconds, issued_at, scope=kept.scope)
        return token if now < token.refresh_at else None


def refreshed(
    login: Login,
    *,
    retry: RetryPolicy,
    random: Random,
    rejected: str | None = None,
    fresh: bool = False,
) -> Exchange[Token]:
    """A token that is not `rejected`, of another process or (always, if `fresh`) a new one.

    Raises LoginEnded (log in again), LoginBusy, and what the token endpoint's refusals stand for.
    """
    attempt, waited = 0, 0.0
    while True:
        found = yield from _turn(login, random, rejected=rejected, fresh=fresh)
        if isinstance(found, Token):
            return found
        if found is None:
            continue
        attempt += 1
        wait = _repeat(found, random) if attempt <= REPEATS else None
        if wait is None:
            wait = retry.wait_before(attempt, found, waited_seconds=waited, random=random)
        if wait is None:
            raise found
        waited += wait
        yield Pause(wait)


def _turn(
    login: Login, random: Random, *, rejected: str | None, fresh: bool
) -> Exchange[Token | RestanteError | None]:
    """One try under the lock, which is not held while this process waits for the next.

    None: what was refused was another's before the answer came.
    """
    shelf = login.shelf
    yield from locked(shelf, random)
    try:
        kept = shelf.read()
        if kept is None:
            raise ended(shelf)
        token = None if fresh else login.shared(kept, rejected)
        if token is not None:
            return token
        shelf.write(kept)  # who could not keep the answer must not spend the token
        got: list[Token] = []

        def keep(answer: Answer) -> None:
            if answer.status == 200:
                token = token_from(answer)
                shelf.write(kept_from(answer, token, now=login.wall(), before=kept))
                got.append(token)

        reply = yield form_post(
            shelf.base_url + TOKEN_PATH,
            {
                "grant_type": "refresh_token",
                "refresh_token": kept.refresh_token,
                "client_id": kept.client_id,
            },
            read_seconds=ANSWER_SECONDS,
            keep=keep,
        )
        if got:
            return got[0]
        error = token_error(reply) if isinstance(reply, Answer) else loss_of(reply)
        if isinstance(error, OAuthError) and error.error == "invalid_grant":
            after = shelf.read()
            if after is not None and after.refresh_token != kept.refresh_token:
                return None
            shelf.forget()
            raise ended(shelf)
        return error
    finally:
        shelf.unlock()


def locked(shelf: Shelf, random: Random) -> Exchange[None]:
    """Take the lock; LoginBusy when another process does not let it go."""
    waited = 0.0
    while not shelf.try_lock():
        if waited >= LOCK_SECONDS:
            raise LoginBusy(
                f"another process of {shelf.agent_id} holds the lock on its login; try again",
                may_have_happened=False,
            )
        pause = _LOCK_PAUSE_SECONDS * random.uniform(0.5, 1.5)
        waited += pause
        yield Pause(pause)


def ended(shelf: Shelf) -> LoginEnded:
    return LoginEnded(
        "invalid_grant",
        f"the login of {shelf.agent_id} at {shelf.base_url} is over; log in again:"
        f" restante-agent login --url {shelf.base_url} --agent {shelf.agent_id}",
    )


def kept_from(answer: Answer, token: Token, *, now: float, before: Kept) -> Kept:
    """What a 200 that came at our time `now` gave. Without a new refresh token the one before stays."""
    new = jsontext.loads(answer.content).get("refresh_token", before.refresh_token)
    if not isinstance(new, str) or not new:
        raise UnexpectedAnswer("the token endpoint answered without a refresh token")
    life = token.expires_at - answer.sent_at
    ends_at = now - (answer.received_at - answer.sent_at) + life
    return Kept(new, before.client_id, token.value, token.scope, life, ends_at)


def subject_of(access_token: str) -> str:
    """The agent whom a token is for: its `sub` (RFC 9068). Only the server's own word, just now, is read."""
    try:
        part = access_token.split(".")[1]
        claims = jsontext.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
        return str(claims["sub"])
    except (ValueError, IndexError, KeyError, TypeError) as error:
        raise UnexpectedAnswer("the access token does not say whose it is") from error


def _repeat(error: RestanteError, random: Random) -> float | None:
    """Seconds until a refresh is repeated that may have been done though no token came."""
    if isinstance(error, Unreachable) and error.may_have_happened:
        return random.uniform(0.0, _REPEAT_SECONDS)
    if isinstance(error, ServerFailure):
        named = error.retry_after_seconds
        return min(_SERVER_SECONDS, named or random.uniform(0.0, _REPEAT_SECONDS))
    return None

"""A login from its first request to its place on this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random

from restante_agent.errors import ConfigurationError, OAuthError, UnexpectedAnswer, Unreachable
from restante_agent.login.kept import KeptLogin
from restante_agent.wire.device_login import Codes, approved, begun, discovered, revoked
from restante_agent.wire.login import Kept, kept_from, locked, subject_of
from restante_agent.wire.step import Answer, Exchange
from restante_agent.wire.token import token_from


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """A new login; `key_in` says in words where its key is."""

    login: KeptLogin
    kept: Kept
    key_in: str


def log_in(
    base_url: str,
    client_id: str,
    *,
    scopes: Collection[str],
    host: str,
    announce: Callable[[Codes], None],
    login_of: Callable[[str], KeptLogin],
    wall: Callable[[], float],
    random: Random,
) -> Exchange[LoggedIn]:
    """Log in as `client_id`, or as the agent the operator picks; `login_of` an agent is where it goes.

    A login that the agent had here is replaced, then given back. Raises LoginRefused, LoginBusy,
    ConfigurationError (it cannot be kept) and what the server refuses.
    """
    endpoints = yield from discovered(base_url)
    codes = yield from begun(endpoints, client_id, scopes=scopes, host=host)
    announce(codes)
    answers: list[Answer] = []
    yield from approved(endpoints, client_id, codes, keep=answers.append)
    answer = answers[0]
    token = token_from(answer)
    agent_id = subject_of(token.value)
    if client_id.startswith("agt_") and agent_id != client_id:
        raise UnexpectedAnswer(f"the server logged in {agent_id} where {client_id} was asked for")
    kept = kept_from(answer, token, now=wall(), before=Kept("", client_id))
    login = login_of(agent_id)
    yield from locked(login, random)
    try:
        before = _readable(login)
        key_in = login.begin(kept)
    finally:
        login.unlock()
    if before is not None:
        # what cannot be given back ends by itself, when nobody has used it for a while
        with contextlib.suppress(OAuthError, Unreachable, UnexpectedAnswer):
            yield from revoked(endpoints, before.client_id, before.refresh_token)
    return LoggedIn(login, kept, key_in)


def log_out(login: KeptLogin, *, random: Random, local: bool) -> Exchange[bool]:
    """Give the login back, then forget it; `local` only forgets. False: there was none (any more).

    Where the server cannot be asked nothing is forgotten, so that it can be tried again.
    """
    yield from locked(login, random)
    try:
        kept = _readable(login) if local else login.read()
        if kept is not None and not local:
            endpoints = yield from discovered(login.base_url)
            yield from revoked(endpoints, kept.client_id, kept.refresh_token)
        login.forget()
        return kept is not None
    finally:
        login.unlock()


def _readable(login: KeptLogin) -> Kept | None:
    """What is kept; None also of what cannot be opened any more."""
    try:
        return login.read()
    except ConfigurationError:
        return None

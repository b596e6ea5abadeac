"""One exchange: authorise, send, interpret, wait, send again. Shared by both drivers."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from random import Random
from urllib.parse import urlencode, urlsplit

from restante_agent import jsontext, traces
from restante_agent.errors import (
    ApiError,
    ConfigurationError,
    Conflict,
    OutcomeUnknown,
    Overloaded,
    RateLimited,
    RestanteError,
    Unauthenticated,
    UnexpectedAnswer,
    Unreachable,
)
from restante_agent.problem import error_of
from restante_agent.wire.login import Login, refreshed
from restante_agent.wire.retry import RetryPolicy
from restante_agent.wire.signature import Pen
from restante_agent.wire.signing import KEYS_PATH, KeptKeys, Signing, minted_from
from restante_agent.wire.step import (
    Answer,
    Authorize,
    Exchange,
    Pause,
    Request,
    Send,
    Sign,
    loss_of,
)
from restante_agent.wire.token import (
    TOKEN_PATH,
    USER_AGENT,
    ClientCredentials,
    Token,
    form_post,
    token_error,
    token_from,
)

log = logging.getLogger("restante_agent")


@dataclass(slots=True)
class Shared:
    """What all views of one client have in common: tokens, the server's version."""

    tokens: dict[str | None, Token] = field(default_factory=dict)
    signing: Signing = field(default_factory=Signing)
    server_version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """Settings of a client, and the exchanges made with them."""

    base_url: str
    credentials: ClientCredentials | Login
    agent_id: str | None
    retry: RetryPolicy
    read_seconds: float
    random: Random
    shared: Shared

    @property
    def agent(self) -> str:
        """The agent whose inbox is meant; ConfigurationError for a service that named none."""
        if self.agent_id is None:
            raise ConfigurationError(
                f"{self.credentials.principal_id} has no inbox, and this call is about one:"
                " use an agent's credentials, or give the client an agent_id"
            )
        return self.agent_id

    @property
    def agent_path(self) -> str:
        return f"/api/v1/agents/{self.agent}"

    @property
    def is_agent(self) -> bool:
        return self.credentials.principal_id.startswith("agt_")

    def exchange(self, request: Request) -> Exchange[Answer]:
        """The answer to `request` (below 400); else the typed error of the last try."""
        url, headers, content = self._prepare(request)
        attempt, waited, rejected, retried = 0, 0.0, None, False
        signing, bad_key, mended = self.shared.signing, None, 0
        while True:
            token = yield Authorize(self._token_scope(request), rejected)
            pen = (yield Sign(bad_key)) if signing.wanted and self.is_agent else None
            if pen is not None and not isinstance(pen, Pen):
                raise TypeError(f"a driver replies to Sign with Pen, not {pen!r}")
            reply = yield Send(
                method=request.method,
                url=url,
                headers={**headers, "authorization": f"Bearer {token}"},
                content=content,
                read_seconds=self.read_seconds + request.hold_seconds,
                stream=request.stream,
                pen=pen,
            )
            error: RestanteError
            if isinstance(reply, Answer):
                self._note_version(reply)
                if reply.status < 400:
                    return reply
                error = error_of(reply.status, reply.headers, reply.content)
                if rejected is None and _token_refused(error):
                    rejected = str(token)
                    continue
                if mended < 3 and self._signed_otherwise(error, reply, pen):
                    mended += 1
                    if pen is not None and not signing.has(pen.key.key_id):
                        bad_key = pen.key.key_id
                    continue
            else:
                error = loss_of(reply)
            attempt += 1
            wait = self.retry.wait_before(attempt, error, waited_seconds=waited, random=self.random)
            if wait is None:
                if isinstance(error, ApiError):
                    error.retried = retried
                raise error
            retried = retried or _may_have_happened(error)
            waited += wait
            kind = type(error).__name__
            log.debug("retry path=%s try=%d wait=%.2f error=%s", request.path, attempt, wait, kind)
            yield Pause(wait)

    def obtain(
        self, scope: str | None, rejected: str | None = None, *, fresh: bool = False
    ) -> Exchange[Token]:
        """A token that is not `rejected`; kept, so that `current` finds it.

        It is new, but that of a login may be shared with other processes unless it must be `fresh`.
        """
        known = self.credentials
        if isinstance(known, Login):
            token = self.shared.tokens[scope] = yield from refreshed(
                known, retry=self.retry, random=self.random, rejected=rejected, fresh=fresh
            )
            return token
        attempt, waited = 0, 0.0
        while True:
            reply = yield form_post(
                self.base_url + TOKEN_PATH,
                known.form(scope or known.scope),
                read_seconds=self.read_seconds,
                authorization=known.basic(),
            )
            error: RestanteError
            if isinstance(reply, Answer):
                if reply.status == 200:
                    token = self.shared.tokens[scope] = token_from(reply)
                    return token
                error = token_error(reply)
            else:
                error = loss_of(reply)
            attempt += 1
            wait = self.retry.wait_before(attempt, error, waited_seconds=waited, random=self.random)
            if wait is None:
                raise error
            waited += wait
            yield Pause(wait)

    def new_pen(
        self, kept: KeptKeys | None, now: float, rejected: str | None
    ) -> Exchange[Pen | None]:
        """The key that the agent's other processes keep, or a new one, kept for them."""
        signing = self.shared.signing
        pen = signing.take(None if kept is None else kept.read(), now, rejected)
        if pen is not None:
            return pen
        try:
            minted = minted_from((yield from self._mint()), now)
        except Conflict:
            # the others have made all the keys there may be: one may be kept now
            pen = signing.take(None if kept is None else kept.read(), now, rejected)
            if pen is None:
                raise
            return pen
        signing.minted = minted
        if kept is not None:
            kept.write(minted)
        return signing.pen(now, None)

    def _mint(self) -> Exchange[Answer]:
        """A new signing key, by a token that is made for it: an older one may be too old."""
        token = yield from self.obtain(None, fresh=True)
        attempt, waited = 0, 0.0
        while True:
            reply = yield Send(
                method="POST",
                url=f"{self.base_url}/api/v1/agents/{self.credentials.principal_id}{KEYS_PATH}",
                headers={
                    "accept": "application/json",
                    "authorization": f"Bearer {token.value}",
                    "content-type": "application/json",
                    "user-agent": USER_AGENT,
                },
                content=b"{}",
                read_seconds=self.read_seconds,
            )
            error: RestanteError
            if isinstance(reply, Answer):
                if reply.status < 400:
                    return reply
                error = error_of(reply.status, reply.headers, reply.content)
            else:
                error = loss_of(reply)
            attempt += 1
            wait = self.retry.wait_before(attempt, error, waited_seconds=waited, random=self.random)
            if wait is None:
                raise error
            waited += wait
            yield Pause(wait)

    def current(self, authorize: Authorize, now: float) -> str | None:
        """A kept token that is neither rejected nor near its end."""
        token = self.shared.tokens.get(authorize.scope)
        if token is None or token.value == authorize.rejected or now >= token.refresh_at:
            return None
        return token.value

    def local_path(self, url: str) -> str:
        """Path and query of a link the server gave; no other origin gets a token."""
        link, home = urlsplit(url), urlsplit(self.base_url)
        there, here = (link.scheme, link.netloc), (home.scheme, home.netloc)
        foreign = any(there) and there != here
        if foreign or not link.path.startswith("/"):
            raise UnexpectedAnswer(f"the server points to another place: {url!r}")
        return link.path + (f"?{link.query}" if link.query else "")

    def _signed_otherwise(self, error: RestanteError, answer: Answer, pen: Pen | None) -> bool:
        if not isinstance(error, Unauthenticated) or not self.is_agent:
            return False
        return self.shared.signing.mends(error.slug, answer.headers, pen)

    def _token_scope(self, request: Request) -> str | None:
        # A service's token has all it may do, a login's what was approved; a client told its scopes
        # keeps to them.
        if isinstance(self.credentials, Login) or self.credentials.scope is not None:
            return None
        return request.scope if self.is_agent else None

    def _prepare(self, request: Request) -> tuple[str, dict[str, str], bytes | None]:
        url = self.base_url + request.path
        if request.query:
            url += "?" + urlencode(request.query)
        headers = {"accept": "application/json", "user-agent": USER_AGENT, **request.headers}
        if (trace := traces.outgoing()) is not None:
            headers[traces.FIELD] = trace
        content = None
        if request.body is not None:
            headers["content-type"] = "application/json"
            content = jsontext.dumps(request.body)
        return url, headers, content

    def _note_version(self, answer: Answer) -> None:
        version = answer.headers.get("restante-version")
        if version and version != self.shared.server_version:
            self.shared.server_version = version
            log.info("server version=%s", version)


def _token_refused(error: RestanteError) -> bool:
    # A signature that does not hold is a 401 too; a new token does not mend it.
    return isinstance(error, Unauthenticated) and not error.slug.startswith("signature-")


def _may_have_happened(error: RestanteError) -> bool:
    """Whether the try behind this error can have had its effect."""
    if isinstance(error, Unreachable):
        return error.may_have_happened
    if isinstance(error, OutcomeUnknown):
        return True
    return not isinstance(error, Overloaded | RateLimited)

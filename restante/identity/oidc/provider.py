"""An identity provider, asked through the egress: what it is, its keys, a code's tokens, its user.

Every call is made without a transaction open. What it says of itself and its keys are kept for an
hour; a key that is not known has the keys fetched again, at most twice a minute, so that tokens with
made-up key ids cost the provider nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar
from urllib.parse import quote_plus, urlencode

from restante.egress.client import Answer, Egress
from restante.egress.policy import Purpose
from restante.egress.refusal import CallFailed, EgressRefused
from restante.identity.oidc.configuration import Configuration
from restante.identity.oidc.id_token import Expected, TokenRefused, UnknownKey, verify_id_token
from restante.identity.oidc.metadata import (
    BASIC,
    Cause,
    Metadata,
    ProviderFailed,
    address_of,
    read_metadata,
)
from restante.identity.strict_jwt import json_object

log = logging.getLogger("restante.oidc")
T = TypeVar("T")

CALL_SECONDS = 5.0
KEPT_SECONDS = 3600.0
AGAIN_SECONDS = 30.0
"""How long keys are good enough whatever key is asked for."""
FAILED_SECONDS = 3.0
"""How long a failure is remembered: those who wait for the same answer do not each wait for a time-out."""
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class Tokens:
    """What a code was good for; the ID token is not yet verified."""

    id_token: str
    access_token: str | None


class Provider:
    """One provider as one process knows it."""

    def __init__(
        self,
        configuration: Configuration,
        egress: Egress,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.configuration = configuration
        self._egress = egress
        self._metadata = _Kept(self._load_metadata, monotonic)
        self._keys = _Kept(self._load_keys, monotonic)

    def metadata(self) -> Metadata:
        """What it says of itself; ProviderFailed."""
        return self._metadata.get(KEPT_SECONDS)

    def known_metadata(self) -> Metadata | None:
        """The same without asking, if it is known."""
        return self._metadata.held

    def check(self) -> None:
        """Ask for what every sign-in needs of it; ProviderFailed."""
        self.metadata()
        if not self._keys.get(KEPT_SECONDS):
            raise ProviderFailed(Cause.UNFIT, "it publishes no key")

    def redeem(self, code: str, verifier: str) -> Tokens:
        """Exchange a code (Core, section 3.1.3; RFC 7636). ProviderFailed, or TokenRefused: no good code."""
        own, metadata = self.configuration, self.metadata()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": own.redirect_uri,
            "code_verifier": verifier,
        }
        fields = {"Content-Type": _FORM, "Accept": "application/json"}
        if metadata.authentication == BASIC:
            # RFC 6749, section 2.3.1: each is written as in a form first
            pair = f"{quote_plus(own.client_id)}:{quote_plus(own.client_secret)}"
            fields["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        else:
            form |= {"client_id": own.client_id, "client_secret": own.client_secret}
        answer = self._call("POST", metadata.token_endpoint, fields, urlencode(form).encode())
        if answer.status in (400, 401, 403):
            raise _refusal(answer)
        said = _object(answer)
        id_token, access_token = said.get("id_token"), said.get("access_token")
        if not isinstance(id_token, str):
            raise TokenRefused("no ID token came for the code")
        return Tokens(id_token, access_token if isinstance(access_token, str) else None)

    def verify(self, tokens: Tokens, *, nonce_hash: bytes, now: float) -> Mapping[str, Any]:
        """The claims of the ID token; TokenRefused, ProviderFailed."""
        own = self.configuration
        expected = Expected(own.issuer, own.client_id, nonce_hash, now, tokens.access_token)
        algorithms = self.metadata().algorithms
        try:
            return verify_id_token(
                tokens.id_token, self._keys.get(KEPT_SECONDS), expected, algorithms=algorithms
            )
        except UnknownKey:
            keys = self._keys.get(AGAIN_SECONDS)
            return verify_id_token(tokens.id_token, keys, expected, algorithms=algorithms)

    def userinfo(self, tokens: Tokens, subject: object) -> Mapping[str, Any]:
        """What else it says of the subject (Core, section 5.3); empty where it says nothing here."""
        where = self.metadata().userinfo_endpoint
        if where is None or tokens.access_token is None:
            return {}
        fields = {"Authorization": f"Bearer {tokens.access_token}", "Accept": "application/json"}
        said = _object(self._call("GET", where, fields))
        if said.get("sub") != subject:
            raise TokenRefused("userinfo is about somebody else")
        return said

    def _load_metadata(self) -> Metadata:
        issuer = self.configuration.issuer
        said = _object(self._call("GET", address_of(issuer), {"Accept": "application/json"}))
        return read_metadata(said, issuer)

    def _load_keys(self) -> Sequence[Mapping[str, Any]]:
        said = _object(self._call("GET", self.metadata().jwks_uri, {"Accept": "application/json"}))
        keys = said.get("keys")
        if not isinstance(keys, list):
            raise ProviderFailed(Cause.UNREADABLE, "its jwks_uri has no list of keys")
        return [key for key in keys if isinstance(key, dict)]

    def _call(
        self, method: str, url: str, fields: Mapping[str, str], body: bytes | None = None
    ) -> Answer:
        where = url.partition("?")[0]
        try:
            answer = self._egress.send(
                method,
                url,
                fields=fields,
                body=body,
                purpose=Purpose.OIDC,
                total_seconds=CALL_SECONDS,
            )
        except EgressRefused as error:
            raise ProviderFailed(
                Cause.REFUSED, f"{where} may not be called: {error.note}"
            ) from None
        except CallFailed as error:
            note = f"{where} does not answer ({error.cause}): {error.note}"
            raise ProviderFailed(Cause.UNREACHABLE, note) from None
        except ValueError as error:  # an access token that is no field's value
            raise ProviderFailed(Cause.UNREADABLE, f"{where}: {type(error).__name__}") from None
        if answer.truncated:
            raise ProviderFailed(Cause.TOO_LARGE, f"the answer of {where} is too large")
        return answer


class _Kept(Generic[T]):
    """An answer, and when it came. One caller asks at a time; the others wait for his answer."""

    def __init__(self, load: Callable[[], T], monotonic: Callable[[], float]) -> None:
        self._load = load
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._at = 0.0
        self._failed: tuple[float, ProviderFailed] | None = None
        self.held: T | None = None

    def get(self, at_most_seconds: float) -> T:
        """One that is not older than that."""
        with self._lock:
            now = self._monotonic()
            if self.held is not None and now - self._at < at_most_seconds:
                return self.held
            if self._failed is not None and now - self._failed[0] < FAILED_SECONDS:
                raise ProviderFailed(self._failed[1].cause, self._failed[1].note)
            try:
                self.held = self._load()
            except ProviderFailed as error:
                self._failed = (self._monotonic(), error)
                raise
            self._at, self._failed = now, None
            return self.held


def _object(answer: Answer) -> Mapping[str, Any]:
    if not answer.ok:
        raise ProviderFailed(Cause.STATUS, f"it answers {answer.status}")
    try:
        return json_object(answer.body)
    except (ValueError, TypeError, RecursionError):
        raise ProviderFailed(Cause.UNREADABLE, "its answer is no JSON object") from None


def _refusal(answer: Answer) -> ProviderFailed | TokenRefused:
    """Why there are no tokens (RFC 6749, section 5.2): our doing, or that of who came with the code."""
    try:
        word = json_object(answer.body).get("error")
    except (ValueError, TypeError, RecursionError):
        word = None
    if word == "invalid_grant":
        return TokenRefused("the provider does not take the code")
    shown = word if isinstance(word, str) and word.isascii() and len(word) <= 40 else "no reason"
    note = (
        f"its token endpoint answers {answer.status} ({shown}): look at the client's id and secret"
    )
    return ProviderFailed(Cause.CLIENT, note)

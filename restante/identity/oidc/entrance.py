"""Signing in through the identity provider: leaving for it, and coming back.

Coming back takes two units of work with calls between them: the first spends the journey, so that
nothing is asked twice for it; then the provider is called with no transaction open; the second lets
in or turns away. What is lost between them costs a click.
"""

from __future__ import annotations

import logging
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode, urlsplit

from sqlalchemy.orm import Session

from restante.audit.entries import Origin
from restante.identity.failed_attempts import count_failure, network_of, refuse_guessers
from restante.identity.oidc.arrivals import (
    Entered,
    Fault,
    TurnedAway,
    prove_person,
    sign_in_person,
    turn_away,
)
from restante.identity.oidc.id_token import TokenRefused, instant
from restante.identity.oidc.journeys import (
    SEALED_FOR,
    Journey,
    Lost,
    Ticket,
    begin_journey,
    end_journey,
)
from restante.identity.oidc.metadata import ProviderFailed
from restante.identity.oidc.people import Person, person_of
from restante.identity.oidc.provider import Provider
from restante.identity.sealing import Sealer
from restante.identity.sessions import resume_session
from restante.identity.sign_in import limited
from restante.storage.transaction import Database

log = logging.getLogger("restante.oidc")
MOST_DEPARTURES = 60
"""A minute and address: each is a row for ten minutes."""
_CODE_CHARACTERS = 4096


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of somebody's browser. `browser`, `current`: its cookies, a visitor's and a session's."""

    by: Origin
    browser: str | None
    current: str | None = None
    user_agent: str | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """What the provider sent the browser back with (RFC 6749, 4.1.2; RFC 9207)."""

    state: str
    code: str | None = None
    error: str | None = None
    issuer: str | None = None


class Entrance:
    """One per process; it is there where an identity provider is configured."""

    def __init__(self, database: Database, provider: Provider, secret_keys: Sequence[str]) -> None:
        self.provider = provider
        self._database = database
        self._sealer = Sealer(secret_keys, SEALED_FOR)

    @property
    def name(self) -> str:
        """The provider's host, for people."""
        return urlsplit(self.provider.configuration.issuer).netloc

    @property
    def sign_out_url(self) -> str | None:
        """Where one signs out at the provider (RP-Initiated Logout), if it has that; asks nothing."""
        known = self.provider.known_metadata()
        if known is None or known.end_session_endpoint is None:
            return None
        where = known.end_session_endpoint
        client = urlencode({"client_id": self.provider.configuration.client_id})
        return f"{where}{'&' if '?' in where else '?'}{client}"

    def leave(
        self, visit: Visit, *, return_path: str, anew: bool = False, another: bool = False
    ) -> str | TurnedAway:
        """The URL to go to. `anew`: to prove who one is again; `another`: as somebody else."""
        try:
            endpoint = self.provider.metadata().authorization_endpoint
        except ProviderFailed as error:
            _log(error)
            return TurnedAway(Fault.PROVIDER)
        departed = self._database.run(lambda s: self._depart(s, visit, return_path, anew=anew))
        if isinstance(departed, TurnedAway):
            return departed
        own = self.provider.configuration
        asked = {
            "response_type": "code",
            "client_id": own.client_id,
            "redirect_uri": own.redirect_uri,
            "scope": own.scope,
            "state": departed.state,
            "nonce": departed.nonce,
            "code_challenge": _challenge(departed.verifier),
            "code_challenge_method": "S256",
            **({"prompt": "login"} if anew or another else {}),
            **({"max_age": "0"} if anew else {}),
        }
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(asked)}"

    def arrive(self, visit: Visit, returned: Returned) -> Entered | TurnedAway:
        """Come back. Raises RateLimited where too many from there have failed."""
        journey = self._database.run(lambda s: self._come_back(s, visit, returned))
        if isinstance(journey, TurnedAway):
            return journey
        try:
            person, auth_time = self._ask(journey, returned)
        except ProviderFailed as error:
            _log(error)
            return self._turn_away(visit, Fault.PROVIDER, str(error.cause))
        except _Denied as error:
            return self._turn_away(visit, Fault.DENIED, error.note)
        except TokenRefused as error:
            return self._turn_away(visit, Fault.TOKEN, error.note)
        return self._database.run(lambda s: self._let_in(s, visit, journey, person, auth_time))

    def _depart(
        self, session: Session, visit: Visit, return_path: str, *, anew: bool
    ) -> Ticket | TurnedAway:
        subjects = [f"departure:{network_of(visit.by.address)}"]
        refuse_guessers(session, subjects, most=MOST_DEPARTURES)
        count_failure(session, subjects)
        session_id = None
        if anew:
            who = None if visit.current is None else resume_session(session, visit.current)
            if who is None:
                return TurnedAway(Fault.SESSION_OVER)
            session_id = who.session_id
        return begin_journey(
            session,
            self._sealer,
            browser=visit.browser or "",
            return_path=return_path,
            session_id=session_id,
        )

    def _come_back(
        self, session: Session, visit: Visit, returned: Returned
    ) -> Journey | TurnedAway:
        refuse_guessers(session, limited(visit.by.address))
        found = end_journey(session, self._sealer, state=returned.state, browser=visit.browser)
        if isinstance(found, Lost):
            return turn_away(session, found, by=visit.by)
        return found

    def _ask(self, journey: Journey, returned: Returned) -> tuple[Person, float | None]:
        """Whom the provider vouches for, and when it asked him. No transaction is open."""
        own, metadata = self.provider.configuration, self.provider.metadata()
        if returned.issuer != own.issuer and (returned.issuer is not None or metadata.names_itself):
            raise TokenRefused("the answer is another issuer's, or does not say whose")
        if returned.error is not None:
            raise _Denied(returned.error)
        if not returned.code or len(returned.code) > _CODE_CHARACTERS:
            raise TokenRefused("no code came back")
        tokens = self.provider.redeem(returned.code, journey.verifier)
        claims = self.provider.verify(tokens, nonce_hash=journey.nonce_hash, now=journey.now)
        groups_claim = own.groups.claim if own.groups else None
        if "email" not in claims or (groups_claim and groups_claim not in claims):
            claims = _together(claims, self.provider.userinfo(tokens, claims["sub"]))
        auth_time = instant(claims, "auth_time") if "auth_time" in claims else None
        return person_of(own.issuer, claims, groups_claim=groups_claim), auth_time

    def _let_in(
        self,
        session: Session,
        visit: Visit,
        journey: Journey,
        person: Person,
        auth_time: float | None,
    ) -> Entered | TurnedAway:
        if journey.session_id is not None:
            return prove_person(
                session,
                journey,
                person,
                auth_time=auth_time,
                current=visit.current,
                by=visit.by,
            )
        return sign_in_person(
            session,
            person,
            groups=self.provider.configuration.groups,
            return_path=journey.return_path,
            by=visit.by,
            user_agent=visit.user_agent,
            instead_of=visit.current,
        )

    def _turn_away(self, visit: Visit, why: Fault, note: str) -> TurnedAway:
        return self._database.run(lambda s: turn_away(s, why, by=visit.by, note=note))


class _Denied(TokenRefused):
    """The provider sent an error instead of a code."""


def _log(error: ProviderFailed) -> None:
    log.error("oidc_provider_failed cause=%s: %s", error.cause, error.note)


def _together(claims: Mapping[str, Any], more: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the ID token says goes before what userinfo says; an address and its proof stay together."""
    own = (
        {**claims, "email_verified": claims.get("email_verified")} if "email" in claims else claims
    )
    return {**more, **own}


def _challenge(verifier: str) -> str:
    """RFC 7636, section 4.2."""
    return urlsafe_b64encode(sha256(verifier.encode("ascii")).digest()).rstrip(b"=").decode()

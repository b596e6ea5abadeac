"""Sign-ins that are at the identity provider: a row each, good once, for ten minutes, in one browser.

The verifier and the nonce never leave the server but in what PKCE (RFC 7636) and OpenID Connect send.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from restante.identity.sealing import SealBroken, Sealer
from restante.storage.clock import database_now
from restante.storage.tables.operators import oidc_transaction

LIFE = timedelta(minutes=10)
SEALED_FOR = "sign-ins through a provider"
_STATE_CHARACTERS = 200


class Lost(StrEnum):
    """Why who comes back is not let on. Its words are none of the other refusals' (arrivals.Why)."""

    OVER = "over"  # never begun, too old, or come back before
    OTHER_BROWSER = "other_browser"


@dataclass(frozen=True, slots=True)
class Ticket:
    """What one leaves with. Kept here: a hash of `state` and `nonce`, the verifier sealed."""

    state: str
    nonce: str
    verifier: str


@dataclass(frozen=True, slots=True)
class Journey:
    """One that came back. Instants by the database's clock; `session_id`: to prove anew who is in it."""

    nonce_hash: bytes
    verifier: str
    return_path: str
    session_id: bytes | None
    began_at: datetime
    ended_at: datetime

    @property
    def now(self) -> float:
        """When it came back, in seconds since 1970."""
        return self.ended_at.replace(tzinfo=UTC).timestamp()


def begin_journey(
    session: Session,
    sealer: Sealer,
    *,
    browser: str,
    return_path: str,
    session_id: bytes | None = None,
) -> Ticket:
    """A new one. `browser`: the value of a cookie; who comes back has to bring it."""
    ticket = Ticket(*(secrets.token_urlsafe(32) for _ in range(3)))
    now, state_hash = database_now(session), _hashed(ticket.state)
    session.connection().execute(
        insert(oidc_transaction).values(
            state_hash=state_hash,
            browser_hash=_hashed(browser),
            nonce_hash=_hashed(ticket.nonce),
            verifier_sealed=sealer.seal(ticket.verifier.encode(), state_hash.hex()),
            return_path=return_path,
            session_id=session_id,
            created_at=now,
            expires_at=now + LIFE,
        )
    )
    return ticket


def end_journey(
    session: Session, sealer: Sealer, *, state: str, browser: str | None
) -> Journey | Lost:
    """Spend it, by compare-and-swap: of several who come back with it, one is let on.

    From another browser it is not spent: who left may still come back.
    """
    if len(state) > _STATE_CHARACTERS:
        return Lost.OVER
    state_hash, connection = _hashed(state), session.connection()
    row = connection.execute(
        select(oidc_transaction).where(oidc_transaction.c.state_hash == state_hash)
    ).one_or_none()
    now = database_now(session)
    if row is None or row.expires_at <= now:
        return Lost.OVER
    if browser is None or not hmac.compare_digest(_hashed(browser), row.browser_hash):
        return Lost.OTHER_BROWSER
    spent = connection.execute(
        delete(oidc_transaction).where(oidc_transaction.c.state_hash == state_hash)
    )
    try:
        verifier = sealer.open(row.verifier_sealed, state_hash.hex()).decode()
    except SealBroken:  # begun before the secret key was changed
        return Lost.OVER
    if not spent.rowcount:
        return Lost.OVER
    return Journey(
        nonce_hash=row.nonce_hash,
        verifier=verifier,
        return_path=row.return_path,
        session_id=row.session_id,
        began_at=row.created_at,
        ended_at=now,
    )


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()

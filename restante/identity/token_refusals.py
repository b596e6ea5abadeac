"""What the OAuth endpoints refuse: counted against guessing, and kept in the audit.

A client that has to prove itself is counted by its name and its address, one that has nothing to
prove (a device) by its address alone: else a stranger could shut all devices out.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.audit.actions import Action, Outcome
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.identity.credentials import named_client
from restante.identity.failed_attempts import count_failure, network_of, refuse_guessers
from restante.storage.tables.identity import principal

MOST_BAD_GRANTS = 100
"""Refresh tokens and device codes that are worth nothing, an address and minute."""
MOST_DEVICES = 60
"""Devices that begin to log in, an address and minute: the more codes there are, the sooner one is hit."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A request to an OAuth endpoint. `client`: whose it says it is; `proves`: and brings a proof of."""

    client: str | None
    proves: bool
    by: Origin

    @property
    def subjects(self) -> list[str]:
        """What a failed authentication is counted for."""
        subjects = [f"address:{network_of(self.by.address)}"]
        return [*subjects, f"client:{self.client}"] if self.proves and self.client else subjects


def refuse_tired(session: Session, attempt: Attempt) -> None:
    """Raise RateLimited where too much has failed for this address or client within a minute."""
    refuse_guessers(session, attempt.subjects)
    refuse_guessers(session, [_grants(attempt)], most=MOST_BAD_GRANTS)


def note_failed_client(session: Session, attempt: Attempt) -> None:
    """A client could not be authenticated."""
    count_failure(session, attempt.subjects)
    record_refusal(session, attempt.client, "the client could not be authenticated", by=attempt.by)


def note_bad_grant(session: Session, attempt: Attempt) -> None:
    """A refresh token or device code was worth nothing; its verb has told the audit why."""
    count_failure(session, [_grants(attempt)])


def count_device(session: Session, attempt: Attempt) -> None:
    """A device begins to log in; RateLimited where too many did."""
    subjects = [f"device:{network_of(attempt.by.address)}"]
    refuse_guessers(session, subjects, most=MOST_DEVICES)
    count_failure(session, subjects)


def record_refusal(session: Session, client: str | None, why: str, *, by: Origin) -> None:
    """An entry with the tenant of the client that was named, if there is one."""
    _, raw = named_client(client or "")
    tenant_id = (
        session.connection()
        .execute(select(principal.c.tenant_id).where(principal.c.principal_id == raw))
        .scalar()
    )
    target = client if tenant_id is not None else None
    record(session, Entry(tenant_id, by, Action.TOKEN_REFUSE, target, Outcome.REFUSED, why))


def _grants(attempt: Attempt) -> str:
    return f"grant:{network_of(attempt.by.address)}"

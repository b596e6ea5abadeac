"""Tickets for streams (contract 5.1): what a browser's EventSource, which sends no token, is let in by.

A ticket is 256 random bits kept as SHA-256, good once on whichever node, and stands for the token it was
got with: what ends that one, or what it may read, ends the stream alike.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from restante.identity.principal import PrincipalKind
from restante.identity.scopes import parse_scope
from restante.identity.tokens import Claims
from restante.storage.clock import database_now
from restante.storage.tables.signals import subscribe_ticket

TICKET_SECONDS = 30
_TICKET_PREFIX = "rstt_"  # so that scanners of logs know one when they see it


def give_ticket(session: Session, claims: Claims) -> str:
    """A ticket for one stream of the agent whose token says this. It can be read this once."""
    ticket = _TICKET_PREFIX + secrets.token_urlsafe(32)
    session.connection().execute(
        insert(subscribe_ticket).values(
            ticket_hash=_hashed(ticket),
            recipient_id=claims.principal_id,
            credential_id=claims.credential_id,
            token_id=claims.token_id,
            kid=claims.kid,
            scopes=" ".join(sorted(map(str, claims.scopes))),
            issued_at=claims.issued_at,
            token_expires_at=claims.expires_at,
            expires_at=database_now(session) + timedelta(seconds=TICKET_SECONDS),
        )
    )
    return ticket


def find_ticket(session: Session, recipient_id: bytes, ticket: str) -> Claims | None:
    """What the token says that a live ticket of this agent was got with; None for any other ticket."""
    row = (
        session.connection()
        .execute(
            select(subscribe_ticket).where(
                subscribe_ticket.c.ticket_hash == _hashed(ticket),
                subscribe_ticket.c.recipient_id == recipient_id,
                subscribe_ticket.c.expires_at > database_now(session),
            )
        )
        .one_or_none()
    )
    if row is None:
        return None
    scopes = (parse_scope(text) for text in row.scopes.split(" "))
    return Claims(
        token_id=row.token_id,
        kid=row.kid,
        principal_id=row.recipient_id,
        kind=PrincipalKind.AGENT,
        credential_id=row.credential_id,
        scopes=frozenset(scope for scope in scopes if scope is not None),
        issued_at=row.issued_at,
        expires_at=row.token_expires_at,
    )


def spend_ticket(session: Session, ticket: str) -> bool:
    """Whether this is its first use: of two at once, one finds it."""
    hashed = _hashed(ticket)
    statement = delete(subscribe_ticket).where(subscribe_ticket.c.ticket_hash == hashed)
    return session.connection().execute(statement).rowcount == 1


def _hashed(ticket: str) -> bytes:
    return hashlib.sha256(ticket.encode("utf-8", "surrogatepass")).digest()

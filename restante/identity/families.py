"""The end of login families: what their refresh tokens and their credential leave behind."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from restante.storage.clock import database_now
from restante.storage.pruning import ROWS
from restante.storage.tables.identity import credential
from restante.storage.tables.logins import refresh_family

KEPT = timedelta(days=7)
"""How long after its end a family is shown to operators."""


def prune_families(session: Session) -> int:
    """Delete families that ended a week ago, with their credentials; returns how many."""
    connection = session.connection()
    before = database_now(session) - KEPT
    found = connection.execute(
        select(refresh_family.c.family_id)
        .where(refresh_family.c.expires_at < before)
        .order_by(refresh_family.c.expires_at)
        .limit(ROWS)
    )
    ended = found.scalars().all()
    if ended:
        connection.execute(delete(credential).where(credential.c.credential_id.in_(ended)))
        connection.execute(delete(refresh_family).where(refresh_family.c.family_id.in_(ended)))
    return len(ended)

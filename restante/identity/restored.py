"""After a restored backup: what is good once may have been used in the lost time, so it is good no more.

Logins end with their refresh tokens, sessions end, links and codes that wait are spent: a login that was
revoked or rotated since the backup would be back, and whoever holds its old token with it (contract
section 8, `db restored`). Nonces need no row: what was signed before is refused (signing_keys.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, update
from sqlalchemy.orm import Session

from restante.identity.logins import DEVICE
from restante.storage.clock import database_now
from restante.storage.tables.identity import credential
from restante.storage.tables.logins import device_authorization, refresh_token
from restante.storage.tables.operators import oidc_transaction, operator_session, sign_in_link
from restante.storage.tables.signals import subscribe_ticket


@dataclass(frozen=True, slots=True)
class Ended:
    """How many logins of devices and sessions of operators there were."""

    logins: int
    sessions: int


def end_logins(session: Session) -> Ended:
    """End what stands for somebody who has proved who he is. Secrets and registered keys stay good.

    Repeating it is safe: it ends what has begun since, too.
    """
    connection, now = session.connection(), database_now(session)
    ended = connection.execute(
        update(credential)
        .where(credential.c.kind == DEVICE, credential.c.revoked_at.is_(None))
        .values(revoked_at=now)
    )
    connection.execute(
        update(refresh_token).where(refresh_token.c.spent_at.is_(None)).values(spent_at=now)
    )
    connection.execute(
        update(sign_in_link).where(sign_in_link.c.spent_at.is_(None)).values(spent_at=now)
    )
    sessions = connection.execute(delete(operator_session)).rowcount
    for table in (oidc_transaction, device_authorization, subscribe_ticket):
        connection.execute(delete(table))
    return Ended(ended.rowcount, sessions)

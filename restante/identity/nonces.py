"""Nonces of signed requests: each is good for one request of its key, over all nodes."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.identity.signatures.profile import SKEW_SECONDS
from restante.identity.signatures.verification import Spending
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.signatures import signature_nonce


def spend(session: Session, spending: Spending) -> bool:
    """Whether the nonce was new for its key. From now on, and after commit for all, it is not.

    Kept until its signature has run out, and as long again as clocks may differ.
    """
    expires_at = datetime.fromtimestamp(spending.expires, UTC).replace(tzinfo=None)
    row = {
        "key_id": decode_id(Prefix.KEY, spending.key.key_id),
        "nonce_hash": hashlib.sha256(spending.nonce.encode()).digest(),
        "expires_at": expires_at + timedelta(seconds=SKEW_SECONDS),
    }
    try:
        session.connection().execute(insert(signature_nonce).values(row))
    except IntegrityError:
        return False
    return True

"""Nonces of signed requests: each is good for one request of its key, over all nodes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.identity.signatures.profile import SKEW_SECONDS
from restante.identity.signatures.verification import Spending
from restante.storage.combine import Kind, Sharing
from restante.storage.ids import Prefix, decode_id
from restante.storage.statement import Insert
from restante.storage.tables.signatures import signature_nonce

Run = Callable[[Callable[[Session], None], Sharing], None]


def spend(run: Run, spending: Spending) -> bool:
    """Whether the nonce was new for its key, which it is no more: committed, with others that wait.

    Kept until its signature has run out, and as long again as clocks may differ.
    """
    expires_at = datetime.fromtimestamp(spending.expires, UTC).replace(tzinfo=None)
    nonce_hash = hashlib.sha256(spending.nonce.encode()).digest()
    row = (
        decode_id(Prefix.KEY, spending.key.key_id),
        nonce_hash,
        expires_at + timedelta(seconds=SKEW_SECONDS),
    )
    sharing = Sharing(kind=Kind.NONCE, order=nonce_hash, events=1, once=nonce_hash)
    try:
        run(lambda session: _SPENT.later(session, [row]), sharing)
    except IntegrityError:
        return False
    return True


_SPENT = Insert(signature_nonce, "key_id", "nonce_hash", "expires_at")

"""An administrator has a callback sign with another secret, which is told once and to nobody else."""

from __future__ import annotations

import secrets as randomness
from base64 import b64encode
from datetime import datetime

from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.storage.clock import database_now
from restante.webhooks.callbacks import find_locked, raw_id
from restante.webhooks.sealed import SIGNS_ON, Secrets
from restante.webhooks.secrets import PREFIX

KEY_BYTES = 32


def rotate_secret(
    session: Session, who: Administrator, public_id: str, secrets: Secrets
) -> tuple[str, datetime]:
    """A new secret of Standard Webhooks' form → (it, until when the one before it signs besides).

    A challenge is answered with the new one from now on. Raises NotFound and what
    `Administrator.require` does.
    """
    who.require(Right.CALLBACKS_WRITE)
    found = find_locked(session, who.tenant_id, raw_id(public_id))
    secret = PREFIX + b64encode(randomness.token_bytes(KEY_BYTES)).decode()
    now = database_now(session)
    secrets.add(session, found.id, secret, now=now)
    record(session, Entry(who.tenant_id, who.by, Action.CALLBACK_SECRET, found.public_id))
    return secret, now + SIGNS_ON

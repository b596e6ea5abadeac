"""A form that is sent twice does what it does once: it carries a key, as a call of the API does."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from flask import request

from restante.identity.sessions import SignedIn
from restante.inbox.idempotency import keep, replay, request_hash
from restante.storage.transaction import Session

FIELD = "form_key"
_MOST = 64
TWICE = (
    "This form was sent a moment ago already, and what it made was shown there, once. "
    "Nothing more was made. Where it was not seen, revoke it and make another."
)


def new_form_key() -> str:
    """For a form that is shown now."""
    return secrets.token_urlsafe(16)


def once(session: Session, who: SignedIn, create: Callable[[], bytes]) -> bytes:
    """The id that `create` makes, or that it made when this form was sent for the first time.

    A form without a key is carried out as often as it is sent. Raises IdempotencyInFlight.
    """
    made = made_before(session, who)
    if made is None:
        made = create()
        keep_made(session, who, made)
    return made


def keep_made(session: Session, who: SignedIn, made: bytes) -> None:
    """That this form made that, for `made_before`."""
    if key := _key():
        keep(session, who.operator, key, made.hex())


def made_before(session: Session, who: SignedIn) -> bytes | None:
    """What it made when this form was sent for the first time; None: this is that time."""
    key = _key()
    if not key:
        return None
    # the key alone: what was typed anew after the first press changes nothing any more
    made = replay(session, who.operator, key, request_hash("POST", request.path, b""))
    return None if made is None else bytes.fromhex(made)


def _key() -> str:
    return request.form.get(FIELD, "")[:_MOST]

"""A form that is sent twice does what it does once: it carries a key, as a call of the API does."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable

from flask import request

from restante.errors import IdempotencyKeyReused
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

    A form without a key is carried out as often as it is sent. Raises IdempotencyInFlight, and
    IdempotencyKeyReused where it said something else then.
    """
    made = made_before(session, who)
    if made is None:
        made = create()
        keep_made(session, who, made)
    return made


def keep_made(session: Session, who: SignedIn, made: bytes) -> None:
    """That this form, as it was sent, made that, for `made_before`."""
    if key := _key():
        keep(session, who.operator, key, [made.hex(), _sent()])


def made_before(session: Session, who: SignedIn) -> bytes | None:
    """What it made when this form was sent for the first time; None: this is that time.

    Raises IdempotencyKeyReused where what it made was made of something else.
    """
    key = _key()
    if not key:
        return None
    # the key alone: what was refused made nothing, and may be mended and sent again
    made = replay(session, who.operator, key, request_hash("POST", request.path, b""))
    if made is None:
        return None
    if isinstance(made, str):  # kept by a release that did not ask what it was made of
        return bytes.fromhex(made)
    known, sent = made
    if sent != _sent():
        raise IdempotencyKeyReused
    return bytes.fromhex(known)


def _sent() -> str:
    """Of all that the form says; not of its token, which is another one in every session."""
    fields = sorted(
        (name, text)
        for name, texts in request.form.lists()
        if name not in (FIELD, "csrf")
        for text in texts
    )
    said = repr(fields).encode("utf-8", "surrogatepass")
    return hashlib.sha256(said).hexdigest()


def _key() -> str:
    return request.form.get(FIELD, "")[:_MOST]

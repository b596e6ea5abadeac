"""What an agent or a service proves itself by, as administrators see it: made, listed, revoked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Select, func, or_, select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.errors import NotFound, TooManyKeys, ValidationFailed
from restante.identity.administrators import Administrator
from restante.identity.assertions import PUBLIC_JWK
from restante.identity.client_keys import add_client_key, kept_key
from restante.identity.credentials import CLIENT_SECRET, add_client_secret
from restante.identity.grants import grants_of
from restante.identity.machine_list import Machine, find_lasting, find_machine
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.identity.signatures.public_keys import thumbprint
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id, new_id
from restante.storage.tables.identity import credential
from restante.storage.tables.logins import refresh_family

MOST_SECRETS = 2
"""One, and its successor while it is being rotated."""
MOST_PUBLIC_KEYS = 4


@dataclass(frozen=True, slots=True)
class Credential:
    """`kind`: client_secret, public_jwk or device (a login; `host`: where, `expires_at`: at the latest)."""

    id: bytes
    kind: str
    created_at: datetime
    public_jwk: dict[str, str] | None = None
    host: str | None = None
    expires_at: datetime | None = None
    # of a secret, and only when it is made
    secret: str | None = field(default=None, repr=False)

    @property
    def public_id(self) -> str:
        """`key_…`."""
        return encode_id(Prefix.KEY, self.id)


@dataclass(frozen=True, slots=True)
class CredentialPage:
    """Oldest first; the token of what comes after them, None: nothing."""

    credentials: Sequence[Credential]
    next_page_token: str | None


def list_credentials(
    session: Session,
    who: Administrator,
    kind: PrincipalKind,
    public_id: str,
    *,
    limit: int,
    token: str | None = None,
) -> CredentialPage:
    """Those that are good now, without their secrets. Raises NotFound, PageTokenInvalid and as `require`."""
    who.require(Right.AGENTS_READ)
    machine = find_machine(session, who.tenant_id, kind, public_id)
    of = ("credentials", who.tenant_id.hex(), machine.public_id)
    after = page_token.take(session, of, token)
    query = _live(session, machine)
    if after is not None:
        query = query.where(credential.c.credential_id > bytes.fromhex(after))
    rows = session.connection().execute(query.limit(limit + 1)).all()
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.credential_id.hex())
    return CredentialPage(list(map(_credential, shown)), more)


def read_credential(
    session: Session, who: Administrator, kind: PrincipalKind, public_id: str, credential_id: str
) -> Credential:
    """One that was made, good or not. Raises NotFound and what `Administrator.require` does."""
    who.require(Right.CREDENTIALS_WRITE, Right.AGENTS_READ)
    machine = find_machine(session, who.tenant_id, kind, public_id)
    raw = decode_id(Prefix.KEY, credential_id)
    row = session.connection().execute(_one(machine, raw)).one_or_none()
    if raw is None or row is None:
        raise NotFound
    return _credential(row)


def add_secret(
    session: Session, who: Administrator, kind: PrincipalKind, public_id: str
) -> Credential:
    """Another client secret, told this once; those before it stay good. Raises as `add_key` does."""
    machine = _to_be_given_one(session, who, kind, public_id)
    _check_room(session, machine, CLIENT_SECRET, MOST_SECRETS, "client secrets")
    raw = new_id()
    secret = add_client_secret(session, machine.id, credential_id=raw)
    return _made(session, who, machine, raw, CLIENT_SECRET, secret=secret)


def add_key(
    session: Session,
    who: Administrator,
    kind: PrincipalKind,
    public_id: str,
    *,
    public_jwk: Mapping[str, Any],
) -> Credential:
    """A public key to prove itself by at the token endpoint (private_key_jwt).

    Whoever makes a credential may be whom it is for, so it takes what giving those of that one's scopes
    takes that the maker has not himself. Raises NotFound, TooManyKeys, ValidationFailed (weak,
    published, or there already) and what `Administrator.require` and `require_to_be` do.
    """
    machine = _to_be_given_one(session, who, kind, public_id)
    live = session.connection().execute(
        _live(session, machine).where(credential.c.kind == PUBLIC_JWK)
    )
    known = {thumbprint(one.public_jwk or {}): one for one in map(_credential, live)}
    found = known.get(thumbprint(kept_key(public_jwk)))
    if found is not None:
        raise ValidationFailed.at(
            "/public_jwk", f"is registered already, as {found.public_id}; revoke that one first"
        )
    if len(known) >= MOST_PUBLIC_KEYS:
        raise _too_many(machine, MOST_PUBLIC_KEYS, "public keys")
    raw = add_client_key(session, machine.id, public_jwk)
    return _made(session, who, machine, raw, PUBLIC_JWK)


def revoke_credential(
    session: Session, who: Administrator, kind: PrincipalKind, public_id: str, credential_id: str
) -> datetime:
    """End it, with its tokens, signing keys and login, within a second on every node; when it ended.

    Ending it again answers the same. Raises NotFound and what `Administrator.require` does.
    """
    who.require(Right.CREDENTIALS_WRITE)
    machine = find_machine(session, who.tenant_id, kind, public_id, locked=True)
    raw = decode_id(Prefix.KEY, credential_id)
    own = (credential.c.credential_id == raw, credential.c.principal_id == machine.id)
    connection = session.connection()
    row = connection.execute(
        select(credential.c.kind, credential.c.revoked_at).where(*own)
    ).one_or_none()
    if raw is None or row is None:
        raise NotFound
    if row.revoked_at is not None:
        ended: datetime = row.revoked_at
        return ended
    now = database_now(session)
    connection.execute(update(credential).where(*own).values(revoked_at=now))
    _record(session, who, Action.CREDENTIAL_REVOKE, machine, f"{row.kind} {credential_id}")
    return now


def _to_be_given_one(
    session: Session, who: Administrator, kind: PrincipalKind, public_id: str
) -> Machine:
    """Locked, so that it is given no grant meanwhile that would have been asked about here."""
    who.require(Right.CREDENTIALS_WRITE)
    machine = find_lasting(session, who.tenant_id, kind, public_id)
    who.require_to_be(grants_of(session, machine.id))
    return machine


def _check_room(session: Session, machine: Machine, kind: str, most: int, what: str) -> None:
    live = _live(session, machine).where(credential.c.kind == kind).order_by(None).subquery()
    if session.connection().execute(select(func.count()).select_from(live)).scalar_one() >= most:
        raise _too_many(machine, most, what)


def _too_many(machine: Machine, most: int, what: str) -> TooManyKeys:
    return TooManyKeys(
        f"The {machine.kind} has {most} live {what}, as many as it may: revoke one first."
    )


def _made(
    session: Session,
    who: Administrator,
    machine: Machine,
    raw: bytes,
    kind: str,
    *,
    secret: str | None = None,
) -> Credential:
    name = encode_id(Prefix.KEY, raw)
    _record(session, who, Action.CREDENTIAL_CREATE, machine, f"{kind} {name}")
    return _credential(session.connection().execute(_one(machine, raw)).one(), secret)


def _record(
    session: Session, who: Administrator, action: Action, machine: Machine, reason: str
) -> None:
    record(session, Entry(who.tenant_id, who.by, action, machine.public_id, reason=reason))


_CREDENTIALS = select(
    credential.c.credential_id,
    credential.c.kind,
    credential.c.created_at,
    credential.c.public_jwk,
    refresh_family.c.host,
    refresh_family.c.expires_at,
).outerjoin(refresh_family, refresh_family.c.family_id == credential.c.credential_id)


def _one(machine: Machine, raw: bytes | None) -> Select[Any]:
    return _CREDENTIALS.where(
        credential.c.principal_id == machine.id, credential.c.credential_id == raw
    )


def _live(session: Session, machine: Machine) -> Select[Any]:
    return _CREDENTIALS.where(
        credential.c.principal_id == machine.id,
        credential.c.revoked_at.is_(None),
        or_(
            refresh_family.c.expires_at.is_(None),
            refresh_family.c.expires_at > database_now(session),
        ),
    ).order_by(credential.c.credential_id)


def _credential(row: Any, secret: str | None = None) -> Credential:
    return Credential(
        id=row.credential_id,
        kind=row.kind,
        created_at=row.created_at,
        public_jwk=None if row.public_jwk is None else json.loads(row.public_jwk),
        host=row.host,
        expires_at=row.expires_at,
        secret=secret,
    )

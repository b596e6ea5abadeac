"""Who somebody is here whom the identity provider vouches for.

A person is a subject of an issuer. An address of his counts once, when the provider says that it is
verified: it binds the operators who were invited by it, and from then on only the subject counts, so
that whoever is given the address later is nobody here. Where groups are configured they decide alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import delete, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.errors import ValidationFailed
from restante.identity.operators import (
    Operator,
    OperatorStatus,
    check_email,
    operator_of,
    select_operators,
)
from restante.storage.tables.operators import operator, sign_in_link
from restante.storage.transaction import Repeat


class Stranger(StrEnum):
    """Why a person is nobody here."""

    NO_EMAIL = "no_email"
    UNVERIFIED = "unverified"
    UNKNOWN = "unknown"
    TAKEN = "taken"  # the address is an operator's who is another person
    NO_GROUP = "no_group"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class Person:
    """Whom the provider vouches for. `email` as it was said; `groups` where they are asked for."""

    issuer: str
    subject: str
    email: str | None = None
    email_verified: bool = False
    groups: frozenset[str] = frozenset()

    @property
    def key(self) -> bytes:
        """What an operator is bound to."""
        return subject_key(self.issuer, self.subject)

    @property
    def address(self) -> str | None:
        """The address as operators are kept by; None where there is none that counts."""
        if self.email is None or not self.email_verified:
            return None
        try:
            return check_email(self.email)
        except ValidationFailed:
            return None


def person_of(issuer: str, claims: Mapping[str, Any], *, groups_claim: str | None = None) -> Person:
    """The person of verified claims. Only `true` is verified; groups are a list of words, or one."""
    email = claims.get("email")
    told = claims.get(groups_claim) if groups_claim else None
    listed = [told] if isinstance(told, str) else told
    return Person(
        issuer=issuer,
        subject=claims["sub"],
        email=email if isinstance(email, str) else None,
        email_verified=claims.get("email_verified") is True,
        groups=frozenset(one for one in listed if isinstance(one, str))
        if isinstance(listed, list)
        else frozenset(),
    )


def operators_bound_to(session: Session, key: bytes, *where: Any) -> list[Operator]:
    """A person's operators."""
    return _found(session, operator.c.oidc_hash == key, *where)


def operators_named(session: Session, address: str) -> list[Operator]:
    """Those of an address as it is kept, in any tenant."""
    return _found(session, operator.c.email == address)


def invited_operators(session: Session, person: Person, by: Origin) -> list[Operator] | Stranger:
    """The active operators of a person, bound now where he was invited by his verified address."""
    bound = operators_bound_to(session, person.key)
    address = person.address
    named = operators_named(session, address) if address else []
    tenants = {one.tenant_id for one in bound}
    free = [one for one in named if one.subject_key is None and one.tenant_id not in tenants]
    for one in free:
        if one.status is not OperatorStatus.DISABLED:
            bind(session, one, person, by)
    mine = bound + free
    if not mine:
        if named:
            return Stranger.TAKEN
        return Stranger.UNKNOWN if address else no_address(person)
    active = [one for one in mine if one.status is not OperatorStatus.DISABLED]
    return active or Stranger.DISABLED


def bind(session: Session, who: Operator, person: Person, by: Origin) -> None:
    """From now on he is this subject. Links that wait for him are gone: the provider is his way in."""
    connection = session.connection()
    try:
        bound = connection.execute(
            update(operator)
            .where(operator.c.operator_id == who.id, operator.c.oidc_hash.is_(None))
            .values(oidc_issuer=person.issuer, oidc_subject=person.subject, oidc_hash=person.key)
        )
    except IntegrityError:
        raise Repeat from None
    if not bound.rowcount:
        raise Repeat
    connection.execute(
        delete(sign_in_link).where(
            sign_in_link.c.operator_id == who.id, sign_in_link.c.spent_at.is_(None)
        )
    )
    reason = f"{who.email} is {person.subject} of {person.issuer}"
    record(session, Entry(who.tenant_id, by, Action.OPERATOR_BIND, who.public_id, reason=reason))


def subject_key(issuer: str, subject: str) -> bytes:
    """SHA-256 of issuer, NUL, subject."""
    return hashlib.sha256(f"{issuer}\0{subject}".encode("utf-8", "surrogatepass")).digest()


def no_address(person: Person) -> Stranger:
    """Why there is no address to go by."""
    return Stranger.NO_EMAIL if person.email is None else Stranger.UNVERIFIED


def _found(session: Session, *where: Any) -> list[Operator]:
    rows = session.connection().execute(
        select_operators().where(*where).order_by(operator.c.operator_id)
    )
    return [operator_of(row) for row in rows]

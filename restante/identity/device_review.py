"""What an operator is shown of a device's login before he decides; and the agents he may pick."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.errors import NotFound
from restante.identity.devices import Device, scopes_of_login
from restante.identity.grants import grants_of
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.requested_scopes import InvalidScope, expand
from restante.identity.scopes import Scope
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import credential, principal
from restante.storage.tables.logins import refresh_family

_AGENT = PrincipalKind.AGENT.value


@dataclass(frozen=True, slots=True)
class Review:
    """`gets`: what approving gives; nothing where `why_not` says why it cannot be approved.

    `left_out`: what the agent is granted besides. `logins`: its devices that are logged in, and when
    one of them was last seen. Instants are UTC.
    """

    agent_id: str
    agent_name: str
    gets: Sequence[Scope]
    left_out: Sequence[Scope]
    why_not: str | None
    logins: int
    last_login_seen_at: datetime | None
    now: datetime


@dataclass(frozen=True, slots=True)
class Choice:
    """An agent that may be picked."""

    agent_id: str
    name: str


@dataclass(frozen=True, slots=True)
class Choices:
    """Some of them, by name; `more`: others come after the last."""

    agents: Sequence[Choice]
    more: bool


def review(session: Session, tenant_id: bytes, device: Device, *, principal_id: bytes) -> Review:
    """What approving the device as that agent of the tenant would do. NotFound: it has none of that id.

    `tenant_id`: that of the operator to whom `look_up` gave the device.
    """
    row = (
        session.connection()
        .execute(
            select(principal.c.name, principal.c.status).where(
                principal.c.principal_id == principal_id,
                principal.c.tenant_id == tenant_id,
                principal.c.kind == _AGENT,
            )
        )
        .one_or_none()
    )
    if row is None:
        raise NotFound
    granted = expand(grants_of(session, principal_id), projects_of(session, tenant_id))
    gets: list[Scope] = []
    why_not = None
    if row.status != "active":
        why_not = f"This agent is {row.status}."
    else:
        try:
            gets = scopes_of_login(
                session, tenant_id, principal_id=principal_id, asked=device.asked_scopes
            )
        except InvalidScope as error:
            why_not = error.detail
    logins, seen_at = _logins(session, principal_id)
    return Review(
        agent_id=encode_id(Prefix.AGENT, principal_id),
        agent_name=row.name,
        gets=gets,
        left_out=[scope for scope in granted if scope not in gets],
        why_not=why_not,
        logins=logins,
        last_login_seen_at=seen_at,
        now=database_now(session),
    )


def choices(
    session: Session, tenant_id: bytes, *, named: str = "", after: str = "", limit: int = 12
) -> Choices:
    """Active agents of the tenant whose name has `named` in it, those after `after` by name."""
    query = select(principal.c.principal_id, principal.c.name).where(
        principal.c.tenant_id == tenant_id,
        principal.c.kind == _AGENT,
        principal.c.status == "active",
        principal.c.name > after,
    )
    if named:
        query = query.where(func.lower(principal.c.name).contains(named.lower(), autoescape=True))
    rows = session.connection().execute(query.order_by(principal.c.name).limit(limit + 1)).all()
    agents = [Choice(encode_id(Prefix.AGENT, row.principal_id), row.name) for row in rows[:limit]]
    return Choices(agents, more=len(rows) > limit)


def _logins(session: Session, principal_id: bytes) -> tuple[int, datetime | None]:
    family = refresh_family.c
    row = (
        session.connection()
        .execute(
            select(func.count(), func.max(family.refreshed_at))
            .select_from(refresh_family)
            .join(credential, credential.c.credential_id == family.family_id)
            .where(
                family.principal_id == principal_id,
                credential.c.revoked_at.is_(None),
                family.expires_at > database_now(session),
            )
        )
        .one()
    )
    return row[0], row[1]

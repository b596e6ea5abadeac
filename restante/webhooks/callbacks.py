"""Callbacks as their agents and administrators see them: one, or a page of them. Never their secrets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from restante.errors import CallbackConflict, NotFound
from restante.identity.administrators import Administrator
from restante.identity.principal import Principal
from restante.identity.roles import Right
from restante.storage import page_token
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.tables.callbacks import callback
from restante.storage.tables.identity import principal
from restante.webhooks.circuit import Circuit
from restante.webhooks.states import Status, Step, after, why_not


class Mode(StrEnum):
    """What a callback is for: to be told that something is there, or to be given it."""

    NOTIFY = "notify"
    DELIVER = "deliver"


class AddressClass(StrEnum):
    """What kind of address answered; the address itself is nobody's business."""

    PUBLIC_IPV4 = "public_ipv4"
    PUBLIC_IPV6 = "public_ipv6"
    ALLOWED = "allowed"  # by RESTANTE_EGRESS_ALLOW


@dataclass(frozen=True, slots=True)
class Seen:
    """What the last right answer came from. `latency_ms`: of the whole call."""

    address: AddressClass
    certificate_names: tuple[str, ...]
    certificate_expires_at: datetime | None
    latency_ms: int


@dataclass(frozen=True, slots=True)
class Callback:
    """`projects` None: all for which its agent is granted `callback`. `failures`: of deliveries, in a row.

    `next_try_at`: of an active one whose circuit is open, when its pause is over.
    """

    id: bytes
    tenant_id: bytes
    agent_id: bytes
    agent_name: str
    url: str
    mode: Mode
    projects: tuple[str, ...] | None
    max_in_flight: int
    status: Status
    status_reason: str | None
    created_at: datetime
    approved_at: datetime | None
    challenge_id: bytes | None
    challenge_ends_at: datetime | None
    challenge_reason: str | None
    challenged_at: datetime | None
    challenge_failures: int
    challenge_failing_since: datetime | None
    failures: int
    failing_since: datetime | None
    circuit: Circuit
    next_try_at: datetime | None
    suspended_at: datetime | None
    delivered_at: datetime | None
    seen: Seen | None

    @property
    def public_id(self) -> str:
        """`cb_…`."""
        return encode_id(Prefix.CALLBACK, self.id)

    def stepped(self, step: Step) -> Status:
        """Where a step leads; CallbackConflict where there is none from here."""
        status = after(self.status, step)
        if status is None:
            raise CallbackConflict(why_not(self.status, step), callback_status=self.status)
        return status


@dataclass(frozen=True, slots=True)
class CallbackPage:
    """Oldest first; the token of what comes after them, None: nothing."""

    callbacks: Sequence[Callback]
    next_page_token: str | None


def find_callback(
    session: Session, tenant_id: bytes, public_id: str, *, agent_id: bytes | None = None
) -> Callback:
    """The tenant's callback (that agent's, if one is named). NotFound for none, and for a removed one."""
    raw = decode_id(Prefix.CALLBACK, public_id)
    if raw is None:
        raise NotFound
    return _find(session, tenant_id, raw, agent_id=agent_id)


def find_locked(
    session: Session, tenant_id: bytes, raw: bytes, *, agent_id: bytes | None = None
) -> Callback:
    """The same, which nobody else changes until this transaction ends."""
    session.connection().execute(
        select(callback.c.callback_id).where(callback.c.callback_id == raw).with_for_update()
    )
    return _find(session, tenant_id, raw, agent_id=agent_id)


def raw_id(public_id: str) -> bytes:
    """The id inside; NotFound for what is none."""
    raw = decode_id(Prefix.CALLBACK, public_id)
    if raw is None:
        raise NotFound
    return raw


def list_own(
    session: Session, agent: Principal, *, limit: int, token: str | None = None
) -> CallbackPage:
    """An agent's own that are not removed. Raises PageTokenInvalid."""
    of = ("callbacks", agent.tenant_id.hex(), agent.public_id)
    return page_of(session, of, callback.c.agent_id == agent.id, agent.tenant_id, limit, token)


def list_all(
    session: Session,
    who: Administrator,
    *,
    limit: int,
    token: str | None = None,
    status: Status | None = None,
) -> CallbackPage:
    """The tenant's that are not removed. Raises PageTokenInvalid and what `Administrator.require` does."""
    who.require(Right.CALLBACKS_READ)
    of = ("callbacks", who.tenant_id.hex(), "", status or "")
    wanted = True if status is None else callback.c.status == status.value
    return page_of(session, of, wanted, who.tenant_id, limit, token)


def read_one(session: Session, who: Administrator, public_id: str) -> Callback:
    """One. Raises NotFound and what `Administrator.require` does."""
    who.require(Right.CALLBACKS_READ)
    return find_callback(session, who.tenant_id, public_id)


def _find(session: Session, tenant_id: bytes, raw: bytes, *, agent_id: bytes | None) -> Callback:
    query = _callbacks(tenant_id).where(callback.c.callback_id == raw)
    if agent_id is not None:
        query = query.where(callback.c.agent_id == agent_id)
    row = session.connection().execute(query).one_or_none()
    if row is None:
        raise NotFound
    return callback_of(row)


def page_of(
    session: Session,
    of: tuple[str, ...],
    wanted: Any,
    tenant_id: bytes,
    limit: int,
    token: str | None,
) -> CallbackPage:
    """Of the tenant's that are not removed those `wanted`, oldest first. Raises PageTokenInvalid."""
    position = page_token.take(session, of, token)
    query = _callbacks(tenant_id).where(wanted)
    if position is not None:
        query = query.where(callback.c.callback_id > bytes.fromhex(position))
    query = query.order_by(callback.c.callback_id).limit(limit + 1)
    rows = session.connection().execute(query).all()
    shown, more = page_token.cut(session, of, rows, limit, lambda row: row.callback_id.hex())
    return CallbackPage(list(map(callback_of, shown)), more)


def _callbacks(tenant_id: bytes) -> Select[Any]:
    return (
        select(callback, principal.c.name)
        .join(principal, principal.c.principal_id == callback.c.agent_id)
        .where(callback.c.tenant_id == tenant_id, callback.c.status != Status.REMOVED.value)
    )


def callback_of(row: Any) -> Callback:
    """A row of the table, joined with its agent's name."""
    seen = None
    if row.seen_address is not None:
        seen = Seen(
            AddressClass(row.seen_address),
            tuple(json.loads(row.seen_names)),
            row.seen_expires_at,
            row.seen_latency_ms,
        )
    circuit = Circuit(row.circuit)
    return Callback(
        id=row.callback_id,
        tenant_id=row.tenant_id,
        agent_id=row.agent_id,
        agent_name=row.name,
        url=row.url,
        mode=Mode(row.mode),
        projects=None if row.projects is None else tuple(json.loads(row.projects)),
        max_in_flight=row.max_in_flight,
        status=Status(row.status),
        status_reason=row.status_reason,
        created_at=row.created_at,
        approved_at=row.approved_at,
        challenge_id=row.challenge_id,
        challenge_ends_at=row.challenge_ends_at,
        challenge_reason=row.challenge_reason,
        challenged_at=row.challenged_at,
        challenge_failures=row.challenge_failures,
        challenge_failing_since=row.challenge_failing_since,
        failures=row.failures,
        failing_since=row.failing_since,
        circuit=circuit,
        next_try_at=row.due_at if circuit is Circuit.OPEN else None,
        suspended_at=row.suspended_at,
        delivered_at=row.delivered_at,
        seen=seen,
    )

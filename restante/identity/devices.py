"""Devices that want to log in (RFC 8628): what an operator sees of one, and what he says to it.

A code that is unknown, over, decided by another or of another tenant answers like one that never was.
Codes that do not hold are counted per operator, per address and for all together, and are in the
audit; callers commit both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from restante.audit.actions import Action, Outcome
from restante.audit.chain import record
from restante.audit.entries import IN_PROCESS, Entry, Origin
from restante.errors import NotFound
from restante.identity.failed_attempts import count_failure, network_of, refuse_guessers
from restante.identity.grants import grants_of
from restante.identity.principal import PrincipalKind
from restante.identity.projects import projects_of
from restante.identity.requested_scopes import scopes_for_token
from restante.identity.roles import Right, Role, require
from restante.identity.scopes import Scope
from restante.identity.user_codes import UserCodes
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.identity import principal
from restante.storage.tables.logins import device_authorization as device

MOST_WRONG_CODES = 10
MOST_WRONG_CODES_OF_ALL = 200
USER_CODES = "restante.user_codes"
"""Key of `session.info`: the UserCodes of this process."""
_ALL = "user_code:all"


class Approver(Protocol):
    """What an operator is to this module."""

    @property
    def id(self) -> bytes: ...
    @property
    def tenant_id(self) -> bytes | None: ...
    @property
    def role(self) -> Role: ...


class Decision(StrEnum):
    """What an operator said."""

    APPROVED = "approved"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class Device:
    """A device that waits. `principal_id` None: the operator picks the agent.

    `asked_scopes` None: it gets what an agent gets that asks for none. Instants are UTC. `decided`:
    it waits no more, since this operator has said so himself; `granted_scopes` is what it got.
    """

    code_hash: bytes
    client: str
    principal_id: bytes | None
    agent_name: str | None
    asked_scopes: str | None
    host: str | None
    user_agent: str | None
    address: str | None
    created_at: datetime
    expires_at: datetime
    decided: Decision | None = None
    granted_scopes: str | None = None


def look_up(
    session: Session, user_code: str, *, operator: Approver, by: Origin = IN_PROCESS
) -> Device | None:
    """The device that waits with this code for an operator of this tenant; its row is locked.

    Also one that he has decided on himself: whoever sends a form twice is told the same twice. None
    for any other code, which is counted. Raises RightMissing, and RateLimited after 10 wrong codes
    of the operator or from `by.address` in a minute.
    """
    require(operator.role, Right.DEVICES_APPROVE)
    subjects = [f"user_code:{encode_id(Prefix.OPERATOR, operator.id)}"]
    if by.address is not None:
        subjects.append(f"user_code:{network_of(by.address)}")
    refuse_guessers(session, subjects, most=MOST_WRONG_CODES)
    refuse_guessers(session, [_ALL], most=MOST_WRONG_CODES_OF_ALL)
    codes: UserCodes = session.info[USER_CODES]
    row = (
        session.connection()
        .execute(
            select(device)
            .where(device.c.user_code_hash.in_(codes.hashes(user_code)))
            .with_for_update()
        )
        .one_or_none()
    )
    now = database_now(
        session
    )  # asked in any case: a code that is there costs no more than another
    if row is None or not _is_shown(row, operator, now):
        count_failure(session, [*subjects, _ALL])
        record(
            session,
            Entry(
                operator.tenant_id,
                by,
                Action.DEVICE_REFUSE,
                outcome=Outcome.REFUSED,
                reason="no device waits with the code",
            ),
        )
        return None
    return Device(
        code_hash=row.device_code_hash,
        client=row.client,
        principal_id=row.principal_id,
        agent_name=_name(session, row.principal_id),
        asked_scopes=row.asked_scopes,
        host=row.host,
        user_agent=row.user_agent,
        address=row.address,
        created_at=row.created_at,
        expires_at=row.expires_at,
        decided=_DECISIONS.get(row.status),
        granted_scopes=row.granted_scopes,
    )


_DECISIONS = {
    "approved": Decision.APPROVED,
    "spent": Decision.APPROVED,
    "denied": Decision.DENIED,
}


def _is_shown(row: Any, operator: Approver, now: datetime) -> bool:
    if operator.tenant_id is None or row.tenant_id not in (None, operator.tenant_id):
        return False
    if row.status == "pending":
        return bool(row.expires_at > now)
    return bool(row.decided_by == operator.id)


def scopes_of_login(
    session: Session, tenant_id: bytes, *, principal_id: bytes, asked: str | None
) -> list[Scope]:
    """What the agent's device gets if it is approved now; InvalidScope where it asks for more."""
    return scopes_for_token(
        asked,
        PrincipalKind.AGENT,
        grants=grants_of(session, principal_id),
        slugs=projects_of(session, tenant_id),
    )


def approve(
    session: Session,
    operator: Approver,
    *,
    user_code: str,
    principal_id: bytes | None = None,
    by: Origin = IN_PROCESS,
) -> Device | None:
    """Let the device log in as its agent, or as the one picked; None like `look_up`, and counted.

    What it gives back says by `decided` how it stands: nothing changes what was decided before.
    Raises NotFound (no active agent of this tenant, or another than the one asked for), InvalidScope
    and what `look_up` raises.
    """
    found = look_up(session, user_code, operator=operator, by=by)
    if found is None or operator.tenant_id is None or found.decided:
        return found
    chosen = found.principal_id or principal_id
    if chosen is None or principal_id not in (None, chosen):
        raise NotFound
    _require_agent(session, operator.tenant_id, chosen)
    scopes = scopes_of_login(
        session, operator.tenant_id, principal_id=chosen, asked=found.asked_scopes
    )
    granted = " ".join(map(str, scopes))
    _decide(session, found, operator, Decision.APPROVED, chosen=chosen, granted=granted)
    target = encode_id(Prefix.AGENT, chosen)
    reason = f"{_place(found)}: {granted}"
    record(session, Entry(operator.tenant_id, by, Action.DEVICE_APPROVE, target, reason=reason))
    return replace(
        found,
        principal_id=chosen,
        agent_name=_name(session, chosen),
        decided=Decision.APPROVED,
        granted_scopes=granted,
    )


def deny(
    session: Session,
    operator: Approver,
    *,
    user_code: str,
    by: Origin = IN_PROCESS,
) -> Device | None:
    """Refuse the device; None and raises like `look_up`, and `decided` like `approve`."""
    found = look_up(session, user_code, operator=operator, by=by)
    if found is None or found.decided:
        return found
    _decide(session, found, operator, Decision.DENIED, chosen=found.principal_id, granted=None)
    target = found.principal_id and encode_id(Prefix.AGENT, found.principal_id)
    record(
        session,
        Entry(
            operator.tenant_id,
            by,
            Action.DEVICE_DENY,
            target or found.client,
            Outcome.DONE,
            _place(found),
        ),
    )
    return replace(found, decided=Decision.DENIED)


def _decide(
    session: Session,
    found: Device,
    operator: Approver,
    decision: Decision,
    *,
    chosen: bytes | None,
    granted: str | None,
) -> None:
    session.connection().execute(
        update(device)
        .where(device.c.device_code_hash == found.code_hash, device.c.status == "pending")
        .values(
            status=decision.value,
            tenant_id=operator.tenant_id,
            principal_id=chosen,
            granted_scopes=granted,
            decided_by=operator.id,
            decided_at=database_now(session),
        )
    )


def _require_agent(session: Session, tenant_id: bytes, principal_id: bytes) -> None:
    found = session.connection().execute(
        select(principal.c.principal_id).where(
            principal.c.principal_id == principal_id,
            principal.c.tenant_id == tenant_id,
            principal.c.kind == PrincipalKind.AGENT.value,
            principal.c.status == "active",
        )
    )
    if found.one_or_none() is None:
        raise NotFound


def _name(session: Session, principal_id: bytes | None) -> str | None:
    if principal_id is None:
        return None
    names: Iterable[str] = (
        session.connection()
        .execute(select(principal.c.name).where(principal.c.principal_id == principal_id))
        .scalars()
    )
    return next(iter(names), None)


def _place(found: Device) -> str:
    return " at ".join(filter(None, (found.host or "a device", found.address)))

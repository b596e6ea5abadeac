"""What was unread for too long, as the operators of a tenant see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson
from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import NotFound
from restante.identity.administrators import Administrator
from restante.identity.roles import Right
from restante.inbox.browse import status_gate
from restante.inbox.lifecycle import STATUS_OF, Status
from restante.inbox.locate import by_event_id
from restante.storage import page_token
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.unread import unread_escalation


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """`escalated_to` None: for the operators to see to. `status`: the event's, as of now."""

    event_id: bytes
    recipient_id: bytes
    project_id: bytes
    noted_at: datetime
    escalated_to: bytes | None
    status: Status
    type: str

    @property
    def public_id(self) -> str:
        """`evt_…`."""
        return encode_id(Prefix.EVENT, self.event_id)

    @property
    def recipient(self) -> str:
        """`agt_…`: in whose inbox it is."""
        return encode_id(Prefix.AGENT, self.recipient_id)


def list_unread(
    session: Session, administrator: Administrator, *, limit: int, token: str | None = None
) -> tuple[Sequence[Escalation], str | None]:
    """Those of which the operators were told, the newest first → (escalations, next page token).

    Raises PageTokenInvalid.
    """
    administrator.require(Right.EVENTS_READ)
    of = ("unread", administrator.tenant_id.hex())
    before = page_token.take(session, of, token)
    found = list_escalations(
        session,
        administrator.tenant_id,
        limit=limit + 1,
        before=None if before is None else bytes.fromhex(before),
        for_operators=True,
    )
    return page_token.cut(session, of, found, limit, lambda one: one.event_id.hex())


def list_escalations(
    session: Session,
    tenant_id: bytes,
    *,
    limit: int,
    before: bytes | None = None,
    for_operators: bool = False,
) -> Sequence[Escalation]:
    """The tenant's, the newest event first, those older than event `before`; kept for 30 days.

    `for_operators`: only those that no agent was told of.
    """
    asked = select(unread_escalation).where(unread_escalation.c.tenant_id == tenant_id)
    if before is not None:
        asked = asked.where(unread_escalation.c.event_id < before)
    if for_operators:
        asked = asked.where(unread_escalation.c.escalated_to.is_(None))
    asked = asked.order_by(unread_escalation.c.event_id.desc()).limit(limit)
    now = database_now(session)
    listed = []
    for row in session.connection().execute(asked).all():
        try:
            found = by_event_id(session, row.event_id)
        except NotFound:
            continue
        listed.append(
            Escalation(
                event_id=row.event_id,
                recipient_id=row.recipient_id,
                project_id=row.project_id,
                noted_at=row.noted_at,
                escalated_to=row.escalated_to,
                status=STATUS_OF[status_gate(found.row, found.gate, now)],
                type=orjson.loads(found.row.envelope)["type"],
            )
        )
    return listed

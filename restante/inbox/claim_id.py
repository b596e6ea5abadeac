"""A claim's own name: repeating it gives back what it took and claims nothing.

A caller's claim_id is recorded with the claim (unique, so of two first calls one claims and the
other repeats it). Where he gives none the server makes one that needs no record: it ends in a check
of itself, which no name of a caller's has by chance, and is given out whole only with events.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, LargeBinary, cast, delete, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from restante.identity.principal import Project
from restante.inbox.envelope import event_json, quoted
from restante.inbox.lifecycle import Gate
from restante.storage.ids import new_id
from restante.storage.tables.events import agent_inbox, event_content
from restante.storage.tables.keys import claim_record
from restante.storage.transaction import Repeat

_OURS = "clm_"
_IS_OURS = re.compile(_OURS + "[0-9a-f]{40}")
_CHECK = 8


@dataclass(frozen=True, slots=True)
class ClaimId:
    """The text given out, and the 16 bytes of it and its consumer that the rows carry."""

    text: str
    ref: bytes

    @classmethod
    def of(cls, text: str | None, consumer: str | None) -> ClaimId:
        """That of the caller, or a new one."""
        if not text:
            text = _OURS + new_id().hex()
            text += _check(text)
        name = f"{consumer or ''}\0{text}"
        return cls(text, hashlib.sha256(name.encode()).digest()[:16])

    @property
    def is_ours(self) -> bool:
        """Whether the server made it."""
        return _IS_OURS.fullmatch(self.text) is not None and self.text.endswith(
            _check(self.text[:-_CHECK])
        )

    @property
    def unused(self) -> str:
        """What is given out where nothing was taken: whoever sends it claims for the first time."""
        return self.text[:-_CHECK] if self.is_ours else self.text


def _check(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_CHECK]


def held_by(consumer: str) -> ColumnElement[bool]:
    """The events that a consumer of this very name holds: MySQL's text lets spaces at the end pass."""
    return cast(agent_inbox.c.consumer, LargeBinary) == consumer.encode()


def is_known(session: Session, recipient_id: bytes, claim_id: ClaimId) -> bool:
    """Tell whether a claim of this name has taken something."""
    if claim_id.is_ours:
        return True
    found = session.connection().execute(
        select(claim_record.c.created_at).where(
            claim_record.c.recipient_id == recipient_id, claim_record.c.claim_ref == claim_id.ref
        )
    )
    return found.first() is not None


def keep(session: Session, recipient_id: bytes, claim_id: ClaimId, now: datetime) -> None:
    """Record a claim that is about to take something; the same one at once waits here."""
    try:
        session.connection().execute(
            insert(claim_record),
            {"recipient_id": recipient_id, "claim_ref": claim_id.ref, "created_at": now},
        )
    except IntegrityError as error:
        raise Repeat from error  # the same claim, called twice at once: the other one has it


def forget(session: Session, recipient_id: bytes, claim_id: ClaimId) -> None:
    """The claim took nothing after all."""
    session.connection().execute(
        delete(claim_record).where(
            claim_record.c.recipient_id == recipient_id, claim_record.c.claim_ref == claim_id.ref
        )
    )


def live_events(
    session: Session,
    recipient_id: bytes,
    projects: Sequence[Project],
    now: datetime,
    *,
    claim_ref: bytes | None = None,
    consumer: str | None = None,
) -> list[bytes]:
    """The events under a live lease, of one claim or of one consumer, with payloads, as JSON."""
    statement = (
        select(agent_inbox, event_content.c.envelope, event_content.c.payload)
        .join(
            event_content,
            (event_content.c.recipient_id == agent_inbox.c.recipient_id)
            & (event_content.c.sequence_number == agent_inbox.c.sequence_number),
        )
        .where(
            agent_inbox.c.recipient_id == recipient_id,
            agent_inbox.c.project_id.in_([p.id for p in projects]),
            agent_inbox.c.gate == Gate.CLAIMED.value,
            agent_inbox.c.claim_expires_at > now,
        )
        .order_by(agent_inbox.c.rank, agent_inbox.c.sequence_number)  # as they were given
    )
    if claim_ref is not None:
        statement = statement.where(agent_inbox.c.claim_ref == claim_ref)
    if consumer is not None:
        statement = statement.where(held_by(consumer))
    return [
        claimed_json(
            row,
            row,
            generation=row.claim_generation,
            attempts=row.attempts,
            ends=row.claim_expires_at,
            now=now,
        )
        for row in session.connection().execute(statement)
    ]


def claimed_json(
    row: Any, content: Any, *, generation: int, attempts: int, ends: datetime, now: datetime
) -> bytes:
    """A claimed event: as read, and its generation, fence and lease."""
    return event_json(
        row,
        content.envelope,
        content.payload,
        status=Gate.CLAIMED,
        attempts=attempts,
        more=_LEASE
        % (
            generation,
            b"null" if row.fence_base is None else b"%d" % (row.fence_base + generation),
            quoted(ends),
            max(0, int((ends - now).total_seconds() * 1000)),
        ),
    )


_LEASE = b',"claim_generation":%d,"fence":%b,"claim_expires_at":%b,"lease_remaining_ms":%d'

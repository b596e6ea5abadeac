"""One JSON Merge Patch (RFC 7396) for the payloads of many quarantined events: what it makes of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import select
from sqlalchemy.orm import Session

from restante.errors import RestanteError
from restante.identity.administrators import Administrator
from restante.identity.roles import Right, RightMissing, missing
from restante.identity.tenant_settings import redacted_for
from restante.inbox.merge_patch import merged
from restante.inbox.redaction import written
from restante.inbox.rules import rules
from restante.storage.tables.events import agent_inbox, event_content

LOOKED_AT = 100
"""Payloads that a dry run reads."""
CONTENT_DROPPED = {"amended_payload": None, "merge_patch": None}
"""What a job does not keep once it has ended: it is of payloads."""
_NOTHING = b"{}"


class Unfit(StrEnum):
    """Why a payload is not patched."""

    NO_OBJECT = "no_object"
    UNCHANGED = "unchanged"
    TOO_LARGE = "too_large"


class NotPatched(RestanteError):
    """The payload is no JSON object, or the patch would leave it as it is, or make it too large."""

    def __init__(self, why: Unfit) -> None:
        super().__init__()
        self.why = why


@dataclass(frozen=True, slots=True)
class Fit:
    """What a patch would make of the first payloads, `looked_at` of them; the others are its events."""

    looked_at: int
    fits: int
    no_object: int
    unchanged: int
    too_large: int
    left_out: frozenset[bytes]
    """Those that it does not fit or change."""
    first: bytes | None
    """An event that it fits; None: it fits none of these."""


def patched(payload: bytes, patch: bytes, *, most_bytes: int) -> bytes:
    """The payload with the patch merged into it, which is an object's text. Pure. Raises NotPatched."""
    try:
        if not isinstance(json.loads(payload), dict):
            raise NotPatched(Unfit.NO_OBJECT)
        before, after = merged(payload, _NOTHING), merged(payload, patch)
    except (
        ValueError,
        TypeError,
        RecursionError,
    ) as error:  # no JSON, or no text that can be written
        raise NotPatched(Unfit.NO_OBJECT) from error
    if before == after:
        raise NotPatched(Unfit.UNCHANGED)
    if len(after) > most_bytes:
        raise NotPatched(Unfit.TOO_LARGE)
    return after


def check_may_write(session: Session, who: Administrator, patch: bytes | None) -> None:
    """RightMissing where the patch writes what is kept from him: what it finds unchanged would tell it.

    None: another payload altogether, which writes all of it.
    """
    rules = redacted_for(session, who)
    rule = next(iter(rules), None) if patch is None else written(json.loads(patch), rules)
    if rule is not None:
        takes = missing(Right.PAYLOADS_WHOLE)
        raise RightMissing(f"It would write {rule}, which the tenant has redacted. {takes}")


def fit_of(session: Session, events: Sequence[bytes], patch: bytes) -> Fit:
    """What the patch would make of the first LOOKED_AT of these events."""
    some = events[:LOOKED_AT]
    rows = session.connection().execute(
        select(agent_inbox.c.event_id, event_content.c.payload)
        .join(
            event_content,
            (event_content.c.recipient_id == agent_inbox.c.recipient_id)
            & (event_content.c.sequence_number == agent_inbox.c.sequence_number),
        )
        .where(agent_inbox.c.event_id.in_(some))
    )
    payloads = {row.event_id: row.payload for row in rows}
    most_bytes, fits = rules(session).max_payload_bytes, []
    unfit: dict[bytes, Unfit] = {}
    for event_id in some:
        try:
            patched(payloads.get(event_id) or b"", patch, most_bytes=most_bytes)
            fits.append(event_id)
        except NotPatched as error:
            unfit[event_id] = error.why
    many = Counter(unfit.values())
    return Fit(
        looked_at=len(some),
        fits=len(fits),
        no_object=many[Unfit.NO_OBJECT],
        unchanged=many[Unfit.UNCHANGED],
        too_large=many[Unfit.TOO_LARGE],
        left_out=frozenset(unfit),
        first=fits[0] if fits else None,
    )

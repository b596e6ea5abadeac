"""An event as JSON. What never changes is kept as the text it is answered with.

The envelope holds project, type, priority, the three ids of its conversation, ordering key,
producer, created_at, corrects and traceparent; the row adds what moves; payloads are spliced in as
the bytes that were received.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import orjson

from restante.inbox.lifecycle import DEFAULT_BACKOFF_BASE, DEFAULT_BACKOFF_MAX, STATUS_OF, Gate
from restante.storage.ids import Prefix, encode_id


# the events of an answer have most of theirs in common
@lru_cache(maxsize=256)
def instant(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC with six decimals."""
    return None if moment is None else moment.isoformat(timespec="microseconds") + "Z"


@dataclass(frozen=True, slots=True)
class Options:
    """What the publisher asked for and no reader is shown: backoff bounds, delivery reports."""

    backoff_base: timedelta = DEFAULT_BACKOFF_BASE
    backoff_max: timedelta = DEFAULT_BACKOFF_MAX
    report: frozenset[str] = frozenset()

    def dump(self) -> bytes | None:
        """As bytes for its column; None where everything is the default."""
        if self == _PLAIN:
            return None
        return orjson.dumps(
            {
                "backoff": [self.backoff_base.total_seconds(), self.backoff_max.total_seconds()],
                "report": sorted(self.report),
            }
        )

    @classmethod
    def load(cls, stored: bytes | None) -> Options:
        """From its column."""
        if stored is None:
            return _PLAIN
        kept = orjson.loads(stored)
        base, most = kept["backoff"]
        return cls(timedelta(seconds=base), timedelta(seconds=most), frozenset(kept["report"]))


_PLAIN = Options()


def event_json(
    row: Any, envelope: bytes, payload: bytes | None, *, status: Gate, **members: Any
) -> bytes:
    """One event as a JSON object: the row's moving members, `members`, envelope, payload."""
    moving = {
        "event_id": encode_id(Prefix.EVENT, row.event_id),
        "sequence_number": row.sequence_number,
        "status": STATUS_OF[status],
        "attempts": members.pop("attempts", None) or row.attempts,
        "max_attempts": row.max_attempts,
        "ordering_sequence": row.ordering_sequence,
        "available_at": instant(row.available_at),
        "not_before": instant(row.not_before) if status is Gate.DELAYED else None,
        "expires_at": instant(row.expires_at),
        "redriven": bool(row.redriven),
        **members,
    }
    text = payload if payload is not None else b"null"
    return b"".join((orjson.dumps(moving)[:-1], b",", envelope[1:-1], b',"payload":', text, b"}"))

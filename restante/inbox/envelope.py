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
from restante.storage.ids import Prefix


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
    row: Any,
    envelope: bytes,
    payload: bytes | None,
    *,
    status: Gate,
    attempts: int | None = None,
    more: bytes = b"",
) -> bytes:
    """One event as a JSON object: the row's moving members, `more`, envelope, payload.

    `more`: further members as JSON, each with a comma before it.
    """
    return _EVENT % (
        row.event_id.hex().encode(),
        _number(row.sequence_number),
        STATUS_OF[status].encode(),
        row.attempts if attempts is None else attempts,
        row.max_attempts,
        _number(row.ordering_sequence),
        quoted(row.available_at),
        quoted(row.not_before) if status is Gate.DELAYED else b"null",
        quoted(row.expires_at),
        b"true" if row.redriven else b"false",
        more,
        envelope[1:-1],
        b"null" if payload is None else payload,
    )


def _number(value: int | None) -> bytes:
    return b"null" if value is None else b"%d" % value


@lru_cache(maxsize=256)
def quoted(moment: datetime | None) -> bytes:
    """An instant as JSON."""
    return orjson.dumps(instant(moment))


# filled in, not written by orjson: a third of the time, and nothing in it needs escaping
_EVENT = (
    b'{"event_id":"'
    + Prefix.EVENT.encode()
    + b'_%b","sequence_number":%b,"status":"%b","attempts":%d,"max_attempts":%d,'
    b'"ordering_sequence":%b,"available_at":%b,"not_before":%b,"expires_at":%b,"redriven":%b%b,%b,'
    b'"payload":%b}'
)

"""What an answer to a delivery means, and how long a callback then waits (contract 5.10). Pure."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import StrEnum

from restante.egress.client import Answer

LONGEST = timedelta(minutes=15)
FIRST = timedelta(seconds=2)
MOST_FAILURES = 10
FAILING = timedelta(hours=24)
_SECONDS = re.compile(r"[0-9]+")


class Outcome(StrEnum):
    """What became of a delivery."""

    DELIVERED = "delivered"  # 2xx
    ACCEPTED = "accepted"  # 202: the receiver settles itself
    GONE = "gone"  # 410: the callback is suspended
    REFUSED = "refused"  # any other 4xx: an attempt of the event has failed
    FAILED = "failed"  # the transport's, whatever it was: counts against the callback alone
    BLOCKED = "blocked"  # the URL is not allowed any more


def outcome_of(status: int) -> Outcome:
    """By the status of the answer. What is no answer of HTTP's is the transport's."""
    if status == 202:
        return Outcome.ACCEPTED
    if 200 <= status < 300:
        return Outcome.DELIVERED
    if status == 410:
        return Outcome.GONE
    if 400 <= status < 500 and status not in (408, 429):
        return Outcome.REFUSED
    return Outcome.FAILED


def pause(failures: int, asked: timedelta | None) -> timedelta:
    """How long to wait after so many transport failures in a row: full jitter, or as the receiver asked."""
    ceiling: timedelta = min(LONGEST, FIRST * 2 ** min(failures, 20))
    jittered: timedelta = ceiling * random.uniform(0, 1)  # noqa: S311 - jitter
    return jittered if asked is None else max(jittered, asked)


def retry_after(answer: Answer, now: datetime) -> timedelta | None:
    """What Retry-After says (RFC 9110, 10.2.3), at most a day; None: nothing that can be read."""
    text = _field(answer.fields, "retry-after")
    if _SECONDS.fullmatch(text):
        digits = text.lstrip("0")
        asked = FAILING if len(digits) > 9 else timedelta(seconds=int(digits or "0"))
    else:
        try:
            when = parsedate_to_datetime(text)
            asked = when.astimezone(UTC).replace(tzinfo=None) - now
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(asked, timedelta(0)), FAILING)


def _field(fields: Mapping[str, str], name: str) -> str:
    return fields.get(name, "").strip()

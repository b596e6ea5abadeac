"""Instants on the wire: RFC 3339 text with an offset; in Python: aware datetimes in UTC."""

from __future__ import annotations

from datetime import UTC, datetime


def parse(text: str) -> datetime:
    """RFC 3339 text to an aware UTC datetime; ValueError when it has no offset or is no instant."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset")
    return instant.astimezone(UTC)


def render(instant: datetime) -> str:
    """An aware datetime as RFC 3339 with six decimals and ``Z``; naive ones are refused."""
    if instant.tzinfo is None:
        raise ValueError("an instant needs a time zone; use datetime.now(timezone.utc)")
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

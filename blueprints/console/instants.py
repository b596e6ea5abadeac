"""Days and instants as an address or a form has them, in UTC."""

from __future__ import annotations

from datetime import datetime, timedelta

NO_INSTANT = "write a day, 2031-05-01, or an instant, 2031-05-01T09:30"


def instant_in(text: str, whole_day: timedelta = timedelta(0)) -> datetime | None:
    """A day begins at its midnight, or goes on `whole_day` longer. None: it is neither."""
    try:
        at = datetime.fromisoformat(text.removesuffix("Z"))
    except ValueError:
        return None
    if at.tzinfo is not None or not 1970 <= at.year < 9000:
        return None
    return at + whole_day if len(text) <= len("2031-05-01") else at

"""What no answer may be, whatever was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from tests.fuzz import hostile

LEAKS = (
    *("Traceback", "sqlalchemy", "SQLAlchemy", "pymysql", "sqlite3", "werkzeug", "jinja2"),
    *("SQL syntax", "OperationalError", "IntegrityError", "DataError"),
    hostile.PRODUCT,
)
MOST = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer as it came; names of fields in small letters."""

    status: int
    fields: Mapping[str, str]
    body: bytes

    @property
    def kind(self) -> str:
        """Its media type."""
        return self.fields.get("content-type", "").partition(";")[0]


def faults(answer: Answer, documented: Collection[int] | None = None) -> Iterator[str]:
    """What is wrong with it. `documented`: the statuses that it may have, where they are known.

    Status 0: the server hung up, as it does on what it cannot read.
    """
    is_busy = answer.status == 503 and "retry-after" in answer.fields
    if answer.status >= 500 and not is_busy:
        yield f"it is a {answer.status}"
    elif documented is not None and answer.status not in (0, *documented):
        yield f"{answer.status} is not documented"
    if hostile.FIELD.lower() in answer.fields:
        yield "a field of it was written by the caller"
    location = answer.fields.get("location", "/")
    if hostile.MARK in location and not re.match(r"/(?![/\\])", location):
        yield f"it leads to {location}"
    if len(answer.body) > MOST and answer.status >= 400:
        yield f"a refusal of {len(answer.body)} bytes"
    text = answer.body.decode("utf-8", "replace")
    yield from _of_html(text) if answer.kind == "text/html" else _of_text(text)
    if answer.kind.endswith("json"):
        yield from _of_json(answer, text)


def _of_html(text: str) -> Iterator[str]:
    if hostile.PRODUCT in text:
        yield "a template was made of input"
    if hostile.ELEMENT in text:
        yield "it is not escaped"


def _of_text(text: str) -> Iterator[str]:
    yield from (f"it says {word}" for word in LEAKS if word in text)


def _of_json(answer: Answer, text: str) -> Iterator[str]:
    try:
        told = json.loads(text)
    except ValueError:
        yield "it is no JSON"
        return
    if answer.kind == "application/problem+json":
        if told.get("status") != answer.status:
            yield f"its status is {told.get('status')} and {answer.status}"
        if missing := {"type", "title", "detail", "instance", "request_id"} - told.keys():
            yield f"a problem without {sorted(missing)}"

"""The audit as a file: CSV that no spreadsheet takes for formulas, or JSON, an entry a line.

Sent as it is read, some hundred entries and one unit of work at a time, so that neither memory nor a
transaction grows with it; it ends where the session does.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import orjson
from flask import Blueprint, Response, request

from blueprints.console import cookies
from blueprints.console.audit_narrowing import TITLES, audit_narrowing
from blueprints.console.faults import Unclear, sentence
from blueprints.console.pages import HEADERS, protect
from blueprints.console.sessions import with_session
from blueprints.console.shell import administrator
from extensions import house
from restante.audit.actions import Action
from restante.audit.chain import record
from restante.audit.entries import Entry
from restante.audit.listing import EntryPage, Recorded, list_entries
from restante.identity.roles import Right, may
from restante.identity.sessions import SignedIn, resume_session
from restante.inbox.envelope import instant
from restante.storage.transaction import Session

blueprint = Blueprint("console_audit_export", __name__)
PIECE = 500
MOST = 100_000
"""Entries of one file; the page says so."""
COLUMNS = (
    *("entry_id", "at", "actor_kind", "actor_id", "action"),
    *("target", "outcome", "reason", "address", "request_id"),
)
# what spreadsheets begin a formula with, in narrow and in wide letters, behind spaces too
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")


@blueprint.post("/audit/export")
@with_session(Right.AUDIT_READ)
def export(session: Session, who: SignedIn) -> Response:
    """Those that the filters of the form name, the newest first. That it was taken is in the audit."""
    format_ = request.form.get("format", "")
    if format_ not in _FORMATS:
        raise Unclear(sentence({"format": f"it is one of {', '.join(_FORMATS)}"}))
    admin = administrator(who)
    admin.require(Right.AUDIT_READ)
    chosen = audit_narrowing(session, admin, request.form)
    if chosen.faults:
        raise Unclear(sentence({TITLES[name]: said for name, said in chosen.faults.items()}))
    first = list_entries(session, admin.tenant_id, limit=PIECE, **chosen.filters)
    told = ", ".join(f"{name} {text}" for name, text in chosen.fields.items())
    reason = f"as {format_}: {told or 'all'}"
    record(session, Entry(admin.tenant_id, admin.by, Action.AUDIT_EXPORT, reason=reason))
    lines, media_type = _FORMATS[format_]
    entries = _entries(first, admin.tenant_id, chosen.filters)
    answer = Response(lines(entries), content_type=media_type)
    answer.headers.update(HEADERS)
    answer.headers["Content-Disposition"] = f'attachment; filename="audit.{format_}"'
    return protect(answer)


def cell(text: str | None) -> str:
    """The text as a cell: what a spreadsheet would take for a formula begins with an apostrophe."""
    told = text or ""
    return f"'{told}" if _FORMULA.match(told) else told


def _entries(
    first: EntryPage, tenant_id: bytes, filters: Mapping[str, Any]
) -> Iterator[list[Recorded]]:
    """Page by page, as long as the session is there; handed out before the first, which is read already."""
    here, token = house().database, cookies.read(request, cookies.SESSION) or ""

    def more() -> Iterator[list[Recorded]]:
        found, sent = first, 0
        while True:
            yield list(found.entries[: MOST - sent])
            sent += len(found.entries)
            after = found.next_page_token
            if after is None or sent >= MOST:
                return

            def read(session: Session, after: str = after) -> EntryPage | None:
                signed_in = resume_session(session, token, used=False)
                if signed_in is None or not may(signed_in.operator.role, Right.AUDIT_READ):
                    return None
                return list_entries(session, tenant_id, limit=PIECE, token=after, **filters)

            page = here.run(read)
            if page is None:
                return
            found = page

    return more()


def _csv(pages: Iterator[list[Recorded]]) -> Iterator[str]:
    yield _row(COLUMNS)
    for entries in pages:
        yield "".join(_row([cell(told[name]) for name in COLUMNS]) for told in map(_told, entries))


def _row(cells: Any) -> str:
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL).writerow(cells)
    return text.getvalue()


def _json_lines(pages: Iterator[list[Recorded]]) -> Iterator[bytes]:
    for entries in pages:
        yield b"".join(orjson.dumps(_told(entry)) + b"\n" for entry in entries)


def _told(entry: Recorded) -> dict[str, str | None]:
    return {**asdict(entry), "at": instant(entry.at)}


_FORMATS: Mapping[str, tuple[Callable[[Iterator[list[Recorded]]], Iterator[Any]], str]] = {
    "csv": (_csv, "text/csv; charset=utf-8"),
    "jsonl": (_json_lines, "application/jsonl"),
}

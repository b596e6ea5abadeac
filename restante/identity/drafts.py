"""What an operator typed into a form that is not carried out yet: kept with his session, for half an hour.

Where the session ran out before the form was sent, it is kept with him, for the one that he begins next.

No page may put a secret here: the caller names the fields that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import orjson
from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from restante.identity.operators import Operator
from restante.identity.sessions import SignedIn
from restante.storage.clock import database_now
from restante.storage.ids import new_id
from restante.storage.tables.operators import form_draft

LIFE = timedelta(minutes=30)
MOST = 8
"""Of one session; the oldest goes for another one."""


@dataclass(frozen=True, slots=True)
class Draft:
    """`action`: where its form goes; `return_path`: the page that it was on; `fields`: (name, text)."""

    action: str
    return_path: str | None
    fields: tuple[tuple[str, str], ...]


def keep_draft(session: Session, who: SignedIn | Operator, draft: Draft) -> str:
    """Keep it; its id, in hexadecimal digits: good in that session alone, or in any of that operator."""
    columns, connection, draft_id = form_draft.c, session.connection(), new_id()
    whose = who.session_id if isinstance(who, SignedIn) else who.id
    others = connection.execute(
        select(columns.draft_id)
        .where(columns.session_id == whose)
        .order_by(columns.draft_id.desc())
    )
    if too_many := list(others.scalars())[MOST - 1 :]:
        connection.execute(
            delete(form_draft).where(columns.draft_id.in_(too_many), columns.session_id == whose)
        )
    connection.execute(
        insert(form_draft).values(
            draft_id=draft_id,
            session_id=whose,
            action=draft.action,
            return_path=draft.return_path,
            fields=orjson.dumps(draft.fields),
            expires_at=database_now(session) + LIFE,
        )
    )
    return draft_id.hex()


def read_draft(session: Session, who: SignedIn, draft_id: str) -> Draft | None:
    """That of this session, or of its operator; None: there is none of that id, or it is too old."""
    try:
        raw = bytes.fromhex(draft_id)
    except ValueError:
        return None
    columns = form_draft.c
    row = (
        session.connection()
        .execute(
            select(form_draft).where(
                columns.draft_id == raw,
                columns.session_id.in_((who.session_id, who.operator.id)),
                columns.expires_at > database_now(session),
            )
        )
        .one_or_none()
        if len(raw) == 16
        else None
    )
    if row is None:
        return None
    fields = tuple((name, text) for name, text in orjson.loads(row.fields))
    return Draft(row.action, row.return_path, fields)

"""What the schema itself promises, whatever the engine does: tried by rows that must be refused."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Table, insert, inspect, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from restante.inbox.lifecycle import Gate
from restante.storage.clock import database_now
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.keys import claim_record, idempotency_key, publication_key
from workers.leak_test.check import expect
from workers.leak_test.ground import Ground

CLAIM_INDEX = ["recipient_id", "project_id", "gate", "rank", "sequence_number"]


class _Undo(Exception):
    """The row was taken; it is not to stay."""


def unique_idempotency(ground: Ground) -> str:
    """The same key twice, whoever asks, is refused by the database."""
    key = {"key_hash": bytes(32)}
    ids = {"principal_id": bytes(16), "producer_id": bytes(16), "recipient_id": bytes(16)}
    rest = {"request_hash": bytes(32), "body_hash": bytes(32), "made": b"", "claim_ref": bytes(16)}
    for table in (idempotency_key, publication_key, claim_record):

        def twice(session: Session, table: Table = table) -> None:
            now = database_now(session)
            values: dict[str, Any] = key | ids | rest | {"event_id": bytes(16)}
            values |= {"created_at": now, "keep_until": now}
            row = {name: value for name, value in values.items() if name in table.c}
            session.connection().execute(insert(table), row)
            session.connection().execute(insert(table), row)

        expect(_is_refused(ground, twice), f"{table.name} takes the same key twice")
    return "idempotency_key, publication_key and claim_record refuse a key that is there"


def claim_index(ground: Ground) -> str:
    """A claim reads what it takes, and locks nothing else."""
    indexes = inspect(ground.database.engine).get_indexes(agent_inbox.name)
    columns = [index["column_names"] for index in indexes]
    expect(CLAIM_INDEX in columns, f"agent_inbox has no index on {', '.join(CLAIM_INDEX)}")
    return f"agent_inbox has the index {', '.join(CLAIM_INDEX)}"


def checked_rows(ground: Ground) -> str:
    """Rows that no event can be are refused: a place or an id twice, a claim without an end."""
    box = ground.box()
    box.publish()
    now = box.run(database_now)
    row = dict(box.rows()[0]._mapping)  # noqa: SLF001 - SQLAlchemy's public name for it
    wrong = {
        "the same sequence number twice": insert(agent_inbox).values(row | {"event_id": bytes(16)}),
        "the same event twice": insert(agent_inbox).values(row | {"sequence_number": 2**40}),
        "a claim without a deadline": _set(row, gate=Gate.CLAIMED, consumer="x"),
        "a claim without a holder": _set(row, gate=Gate.CLAIMED, claim_expires_at=now),
        "an end without an instant": _set(row, gate=Gate.COMPLETED, due_at=None),
        "an end with a timer": _set(row, gate=Gate.COMPLETED, final_at=now, due_at=now),
        "a gate that there is none of": _set(row, gate=9, final_at=now),
    }
    for what, statement in wrong.items():
        refused = _is_refused(ground, lambda session, s=statement: session.connection().execute(s))
        expect(refused, f"agent_inbox takes {what}")
    expect(len(box.rows()) == 1, "a refused row is there")
    return f"{len(wrong)} kinds of impossible rows are refused"


def _is_refused(ground: Ground, work: Any) -> bool:
    def run(session: Session) -> None:
        work(session)
        raise _Undo

    try:
        ground.database.run(run)
    except _Undo:
        return False
    except DBAPIError:
        return True
    return False


def _set(row: dict[str, Any], **values: Any) -> Any:
    return update(agent_inbox).where(agent_inbox.c.event_id == row["event_id"]).values(**values)

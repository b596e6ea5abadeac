"""Ordering keys: at most one event of a key, its head, is claimable or claimed.

The key's row is the lock: publish, every end of a head and every redrive hold it, the claim never
does. Callers lock the rows (`lock_keys`) before the rows of events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Select, and_, bindparam, delete, insert, select, update
from sqlalchemy.orm import Session

from restante.inbox.by_key import update_by_place
from restante.inbox.lifecycle import Gate
from restante.signals.rings import ring
from restante.storage.tables.events import agent_inbox
from restante.storage.tables.inboxes import ordering_key, ordering_waiting


@dataclass(slots=True)
class Key:
    """A locked row of `ordering_key`."""

    recipient_id: bytes
    project_id: bytes
    key_hash: bytes
    head_sequence: int | None = None
    fence: int = 0
    ordering_sequence: int = 0


KeyName = tuple[bytes, bytes, bytes]
"""(recipient id, project id, key hash)"""


def lock_keys(
    session: Session, names: Collection[KeyName], *, nowait: bool = False, skip: bool = False
) -> dict[KeyName, Key]:
    """Lock the rows of these keys that exist, ascending. `skip`: leave out those that are held."""
    found: dict[KeyName, Key] = {}
    for project_id, key_hash in sorted({name[1:] for name in names}):
        recipients = sorted(name[0] for name in names if name[1:] == (project_id, key_hash))
        rows = session.connection().execute(
            select(
                ordering_key.c.recipient_id,
                ordering_key.c.head_sequence,
                ordering_key.c.fence,
                ordering_key.c.ordering_sequence,
            )
            .where(
                ordering_key.c.recipient_id.in_(recipients),
                ordering_key.c.project_id == project_id,
                ordering_key.c.key_hash == key_hash,
            )
            .with_for_update(nowait=nowait, skip_locked=skip)
        )
        for row in rows:
            name = (row.recipient_id, project_id, key_hash)
            found[name] = Key(*name, row.head_sequence, row.fence, row.ordering_sequence)
    return found


def open_keys(session: Session, names: Collection[KeyName]) -> dict[KeyName, Key]:
    """Lock the rows of these keys, making those that are missing.

    Only for one who holds the inbox rows: he is the only one who makes key rows there.
    """
    found = lock_keys(session, names)
    missing = [Key(*name) for name in sorted(set(names) - found.keys())]
    if missing:
        session.connection().execute(
            insert(ordering_key),
            [
                {"recipient_id": k.recipient_id, "project_id": k.project_id, "key_hash": k.key_hash}
                for k in missing
            ],
        )
        found.update({(k.recipient_id, k.project_id, k.key_hash): k for k in missing})
    return found


def save_keys(session: Session, keys: Iterable[Key]) -> None:
    """Write back locked keys."""
    values = [
        {
            "r": key.recipient_id,
            "p": key.project_id,
            "k": key.key_hash,
            "head": key.head_sequence,
            "new_fence": key.fence,
            "ordering": key.ordering_sequence,
        }
        for key in keys
    ]
    if values:
        session.connection().execute(_SAVE, values)


def wait(session: Session, waiting: Collection[tuple[Key, int]]) -> None:
    """Have events (by sequence number) wait for their key's head."""
    if waiting:
        session.connection().execute(
            insert(ordering_waiting),
            [
                {
                    "recipient_id": key.recipient_id,
                    "project_id": key.project_id,
                    "key_hash": key.key_hash,
                    "sequence_number": sequence,
                }
                for key, sequence in waiting
            ],
        )


def leave(session: Session, key: Key, sequence: int, *, fence: int | None) -> None:
    """An event of the key is final or quarantined. Its head's place goes to the lowest that waits.

    `fence`: the last one given out with the event, where it was ever head.
    """
    if key.head_sequence != sequence:
        session.connection().execute(delete(ordering_waiting).where(_is(key, sequence)))
        return
    key.fence = max(key.fence, fence or 0)
    key.head_sequence = session.connection().execute(_next(key)).scalar()
    if key.head_sequence is not None:
        promote(session, key, key.head_sequence)
    save_keys(session, [key])


def promote(session: Session, key: Key, sequence: int) -> None:
    """Make a waiting event the head: claimable, its fences above all that were given out."""
    connection = session.connection()
    connection.execute(delete(ordering_waiting).where(_is(key, sequence)))
    connection.execute(
        update_by_place()
        .where(
            agent_inbox.c.recipient_id == key.recipient_id,
            agent_inbox.c.sequence_number == sequence,
        )
        .values(gate=Gate.CLAIMABLE, fence_base=key.fence - agent_inbox.c.claim_generation)
    )
    ring(session, key.recipient_id, key.project_id)


def _next(key: Key) -> Select[int]:
    return (
        select(ordering_waiting.c.sequence_number)
        .where(
            ordering_waiting.c.recipient_id == key.recipient_id,
            ordering_waiting.c.project_id == key.project_id,
            ordering_waiting.c.key_hash == key.key_hash,
        )
        .order_by(ordering_waiting.c.sequence_number)
        .limit(1)
        # the key's row is locked already; so it sees what is there under REPEATABLE READ too
        .with_for_update()
    )


def _is(key: Key, sequence: int) -> ColumnElement[bool]:
    return and_(
        ordering_waiting.c.recipient_id == key.recipient_id,
        ordering_waiting.c.project_id == key.project_id,
        ordering_waiting.c.key_hash == key.key_hash,
        ordering_waiting.c.sequence_number == sequence,
    )


_SAVE = (
    update(ordering_key)
    .where(
        ordering_key.c.recipient_id == bindparam("r"),
        ordering_key.c.project_id == bindparam("p"),
        ordering_key.c.key_hash == bindparam("k"),
    )
    .values(
        head_sequence=bindparam("head"),
        fence=bindparam("new_fence"),
        ordering_sequence=bindparam("ordering"),
    )
)

"""Resealing: what was sealed under an earlier secret key is sealed under the newest, some rows at a time.

The table here names every sealed column there is (a test finds any other); hashes under a secret
key cannot be made again and are not among them: docs/keys.md says what becomes of those.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Column, select, update
from sqlalchemy.orm import Session

from restante.identity import server_keys, signing_keys
from restante.identity.oidc import journeys
from restante.identity.sealing import SealBroken, Sealer
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.callbacks import callback_secret
from restante.storage.tables.identity import token_key
from restante.storage.tables.operators import oidc_transaction
from restante.storage.tables.signatures import signing_key
from restante.webhooks import sealed as callback_secrets

ROWS = 200


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of boxes. `context` of a row is what they were sealed with, and no secret: its id."""

    column: Column[Any]
    key: Column[Any]
    purpose: Callable[[Any], str]
    context: Callable[[Any], str]

    def __str__(self) -> str:
        return f"{self.column.table.name}.{self.column.name}"


SEALED = (
    SealedColumn(
        token_key.c.private_sealed,
        token_key.c.kid,
        purpose=lambda row: server_keys.sealed_for(row.purpose),
        context=lambda row: str(row.kid),
    ),
    SealedColumn(
        signing_key.c.secret_sealed,
        signing_key.c.key_id,
        purpose=lambda _: signing_keys.SEALED_FOR,
        context=lambda row: encode_id(Prefix.KEY, row.key_id),
    ),
    SealedColumn(
        oidc_transaction.c.verifier_sealed,
        oidc_transaction.c.state_hash,
        purpose=lambda _: journeys.SEALED_FOR,
        context=lambda row: row.state_hash.hex(),
    ),
    SealedColumn(
        callback_secret.c.secret_sealed,
        callback_secret.c.secret_id,
        purpose=lambda _: callback_secrets.SEALED_FOR,
        context=lambda row: callback_secrets.context_of(row.secret_id),
    ),
)


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of some rows. `after`: the last of them, None where there are no more.

    `unopened`: the ids of those that none of the secret keys opens.
    """

    after: Any | None
    resealed: int
    already: int
    unopened: tuple[str, ...]


def reseal_some(
    session: Session, sealed: SealedColumn, *, secret_keys: Sequence[str], after: Any | None = None
) -> Batch:
    """Reseal the next rows after that key. Any number may run at once, beside whatever else runs.

    Each box is exchanged for one of the same content, and only where it is still the one that was
    read: what others write or delete meanwhile stays as they leave it.
    """
    table, connection = sealed.column.table, session.connection()
    asked = select(table).where(sealed.column.is_not(None)).order_by(sealed.key).limit(ROWS)
    rows = connection.execute(asked if after is None else asked.where(sealed.key > after)).all()
    sealers: dict[str, Sealer] = {}
    resealed = already = 0
    unopened = []
    for row in rows:
        purpose, context = sealed.purpose(row), sealed.context(row)
        sealer = sealers.setdefault(purpose, Sealer(secret_keys, purpose))
        key, box = (getattr(row, column.name) for column in (sealed.key, sealed.column))
        try:
            newer = sealer.resealed(box, context)
        except SealBroken:
            unopened.append(context)
            continue
        if newer is None:
            already += 1
            continue
        exchanged = connection.execute(
            update(table)
            .where(sealed.key == key, sealed.column == box)
            .values({sealed.column: newer})
        )
        resealed += exchanged.rowcount
    last = getattr(rows[-1], sealed.key.name) if len(rows) == ROWS else None
    return Batch(last, resealed, already, tuple(unopened))

"""The signing keys of the agents that call, at most half a second old: one look-up, then none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial

from sqlalchemy.orm import Session

from restante.identity.recent import Cell, Recent
from restante.identity.signatures.keys import VerifyingKey
from restante.identity.signing_keys import SigningKeys
from restante.storage.clock import database_now
from restante.storage.transaction import Database

MOST_SIGNERS = 20_000


class KnownSigners:
    """One per process. A key made elsewhere is found at once: what is not known is looked for."""

    def __init__(
        self,
        database: Database,
        keys: SigningKeys,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._keys = keys
        self._monotonic = monotonic
        self._held: Recent[bytes, Cell[Mapping[str, VerifyingKey]]] = Recent(MOST_SIGNERS)

    def find(self, principal_id: bytes, key_id: str) -> VerifyingKey | None:
        """The live key of that id, if it is this agent's."""
        cell = self._held.get(principal_id)
        if cell is None:
            self._held.put(principal_id, cell := Cell())

        def load(session: Session) -> Mapping[str, VerifyingKey]:
            return self._keys.verifying(session, principal_id, now=database_now(session))

        look = partial(cell.fresh, self._monotonic, lambda: self._database.run(load))
        before, keys = cell.held, look()
        if key_id not in keys and cell.held is before:
            cell.expire()
            keys = look()
        return keys.get(key_id)

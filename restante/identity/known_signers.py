"""The signing keys of the agents that call, at most half a second old: one look-up, then none."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping

from sqlalchemy.orm import Session

from restante.identity.signatures.keys import VerifyingKey
from restante.identity.signing_keys import SigningKeys
from restante.storage.clock import database_now
from restante.storage.transaction import Database

STATE_SECONDS = 0.5
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
        self._held: OrderedDict[bytes, tuple[Mapping[str, VerifyingKey], float]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, principal_id: bytes, key_id: str) -> VerifyingKey | None:
        """The live key of that id, if it is this agent's."""
        held = self._held.get(principal_id)
        if held is not None and self._monotonic() - held[1] < STATE_SECONDS and key_id in held[0]:
            return held[0][key_id]
        asked_at = self._monotonic()  # as old as the question

        def load(session: Session) -> Mapping[str, VerifyingKey]:
            return self._keys.verifying(session, principal_id, now=database_now(session))

        keys = self._database.run(load)
        with self._lock:
            self._held[principal_id] = keys, asked_at
            self._held.move_to_end(principal_id)
            if len(self._held) > MOST_SIGNERS:
                self._held.popitem(last=False)
        return keys.get(key_id)

"""Refused calls in the audit: one entry a minute for each caller and kind, so that nobody can fill it.

A caller is known where a token of ours names him, good or not any more: his entries are in his
tenant's chain. All others are strangers, told apart by their network, and together have ten entries a
minute in the platform's chain: who floods with nonsense hides no refusal of somebody who is known.
The limits are each process's own; nothing is counted in the database, since that is what is spared.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from restante.audit.actions import Action, Outcome
from restante.audit.chain import record
from restante.audit.entries import Entry, Origin
from restante.errors import RateLimited, RestanteError
from restante.identity.credentials import named_client
from restante.identity.failed_attempts import network_of
from restante.identity.rates import Rates
from restante.storage.tables.identity import principal
from restante.storage.transaction import Database

log = logging.getLogger("restante.identity")
SECONDS = 60.0
MOST_OF_STRANGERS = 10
"""Entries a minute and process."""


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """A call that was refused. `known`: the public id of whom a token of ours names.

    `kind` tells refusals apart that are each worth an entry; `target`: the route; `why`: for a reader.
    """

    by: Origin
    known: str | None
    kind: str
    target: str
    why: str
    action: Action = Action.REQUEST_REFUSE


class Refusals:
    """Which refused calls are worth an entry. One per process."""

    def __init__(self, database: Database, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._known = Rates(1 / SECONDS, burst_seconds=SECONDS, clock=clock)
        self._strangers = Rates(1 / SECONDS, burst_seconds=SECONDS, clock=clock)
        self._of_strangers = Rates(MOST_OF_STRANGERS / SECONDS, burst_seconds=SECONDS, clock=clock)

    def note(self, refused: RefusedCall) -> None:
        """Write its entry, where one is due. The refusal stands whether or not that succeeds."""
        if not self._is_due(refused):
            return
        try:
            self._database.run(lambda session: _record(session, refused))
        except (RestanteError, DBAPIError) as error:
            told = (refused.by.request_id, type(error).__name__)
            log.warning("refusal_not_audited request_id=%s cause=%s", *told)

    def _is_due(self, refused: RefusedCall) -> bool:
        try:
            if refused.known is not None:
                self._known.take(f"{refused.known} {refused.kind}".encode())
            else:
                self._strangers.take(f"{network_of(refused.by.address)} {refused.kind}".encode())
                self._of_strangers.take(b"")
        except RateLimited:
            return False
        return True


def _record(session: Session, refused: RefusedCall) -> None:
    """Its entry, in the chain of the tenant of whom the token names."""
    tenant_id = None
    if refused.known is not None:
        _, raw = named_client(refused.known)
        found = select(principal.c.tenant_id).where(principal.c.principal_id == raw)
        tenant_id = session.connection().execute(found).scalar()
    entry = Entry(
        tenant_id, refused.by, refused.action, refused.target, Outcome.REFUSED, refused.why
    )
    record(session, entry)

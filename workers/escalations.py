"""Tells of what nobody has read for too long, in the projects that ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sqlalchemy.exc import SQLAlchemyError

from restante.errors import RestanteError
from restante.inbox.escalation import escalate, waiting_inboxes
from restante.inbox.escalation_policy import Policy, policies
from restante.storage.transaction import Database
from workers.service import Service, log

INBOXES = 100


class Escalations(Service):
    """Every project's policy a pass; each inbox in a transaction of its own, goes on next time."""

    name = "escalations"
    pause_seconds = 5.0

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def run_once(self) -> Mapping[str, int]:
        did = {"told": 0, "failed": 0, "more": 0}
        for policy in self._database.run(policies):
            self._run(policy, did)
        return did

    def _run(self, policy: Policy, did: dict[str, int]) -> None:
        waiting = partial(waiting_inboxes, policy=policy, limit=INBOXES)
        found = self._database.run(waiting)
        for recipient_id in found:
            try:
                told = self._database.run(
                    partial(escalate, policy=policy, recipient_id=recipient_id)
                )
            except (RestanteError, SQLAlchemyError) as error:
                did["failed"] += 1
                log.warning(
                    "escalation_failed agent=%s error=%s",
                    recipient_id.hex(),
                    type(error).__name__,
                )
                continue
            did["told"] += told.events
            did["more"] |= int(told.has_more or len(found) == INBOXES)

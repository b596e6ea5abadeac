"""Carries out what operators want done to many quarantined events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from restante.inbox.triage.carrying_out import Overtaken, carry_out_next, hand_on, take
from restante.storage.transaction import Database
from workers.service import Service

EVENTS = 100
"""Of one job in a pass, so that every job gets its turn."""


class Triage(Service):
    """Some events of one job a pass, each in a transaction of its own."""

    name = "triage"
    pause_seconds = 0.5

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database

    def run_once(self) -> Mapping[str, int]:
        job_id = self._database.run(take)
        did = 0
        if job_id is None:
            return {"events": did}
        goes_on = True
        while goes_on and did < EVENTS and not self._stopping.is_set():
            try:
                goes_on = self._database.run(partial(carry_out_next, job_id=job_id))
            except Overtaken:
                continue
            did += goes_on
        if goes_on:
            self._database.run(partial(hand_on, job_id=job_id))
        return {"events": did, "more": 1}

"""Carries out what operators want done to many quarantined events."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from restante.inbox.triage.carrying_out import (
    TOGETHER,
    Overtaken,
    carry_out_next,
    hand_on,
    take,
)
from restante.storage.transaction import Database
from workers.service import Service

EVENTS = 100
"""Of one job in a pass, so that every job gets its turn."""


class Triage(Service):
    """Some events of one job a pass, a few of them a transaction."""

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
        more = 1
        while more and did < EVENTS and not self._stopping.is_set():
            next_of_job = partial(carry_out_next, job_id=job_id, most=min(TOGETHER, EVENTS - did))
            try:
                more = self._database.run(next_of_job)
            except Overtaken:
                continue
            did += more
        if more:
            self._database.run(partial(hand_on, job_id=job_id))
        return {"events": did, "more": 1}

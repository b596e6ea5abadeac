"""The relay: carries out turns, and has active callbacks challenged when their time has come.

Any number of relays share the work through the rows. To be used without a transaction open.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from restante.audit.entries import SERVER
from restante.egress.client import Egress
from restante.egress.refusal import CallFailed, EgressRefused
from restante.egress.url import parse_url
from restante.errors import CallbackConflict, NotFound, RateLimited
from restante.identity.server_keys import ServerKeys
from restante.storage.clock import database_now
from restante.storage.tables.callbacks import callback
from restante.storage.transaction import Database
from restante.webhooks.challenge import Challenge
from restante.webhooks.challenger import Challenger, told
from restante.webhooks.delivery import Parcel, Result, TurnOver, end_turn, prepare, settle
from restante.webhooks.judging import TRIED_AFTER, settle_challenge
from restante.webhooks.outcomes import Outcome, outcome_of, retry_after
from restante.webhooks.registration import challenge_again
from restante.webhooks.sealed import Secrets
from restante.webhooks.signing import signed_fields
from restante.webhooks.turns import Turn, take_turns

log = logging.getLogger("restante.webhooks")

CALL_SECONDS = 10.0
MOST_A_TURN = 50
TURN_SECONDS = 30.0
"""After so long a turn takes no more events, well before another relay may have the callback."""


class Relay:
    """One per process that relays."""

    def __init__(
        self,
        database: Database,
        egress: Egress,
        secrets: Secrets,
        keys: ServerKeys,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._egress = egress
        self._secrets = secrets
        self._keys = keys
        self._clock = clock
        self._challenger = Challenger(database, egress, secrets)

    def take(self, *, most: int) -> list[Turn]:
        """Turns for this relay, at most so many."""
        return self._database.run(lambda s: take_turns(s, most=most))

    def carry_out(self, turn: Turn) -> int:
        """Deliver until there is nothing, something fails, or it has been long enough → how many went out."""
        began, sent = self._clock(), 0
        try:
            while sent < MOST_A_TURN and self._clock() - began < TURN_SECONDS:
                parcel = self._database.run(lambda s: prepare(s, turn, self._keys, self._secrets))
                if parcel is None:
                    self._database.run(lambda s: end_turn(s, turn, idle=True))
                    return sent
                result = self.post(turn, parcel)
                sent += 1
                if not self._settle(turn, parcel, result):
                    return sent
            self._database.run(lambda s: end_turn(s, turn, idle=False))
        except TurnOver:
            log.info("callback_turn_over callback=%s", turn.callback.public_id)
        return sent

    def post(self, turn: Turn, parcel: Parcel) -> Result:
        """Send it. The URL is judged by the egress, now as ever."""
        began = self._clock()
        fields = signed_fields(
            parse_url(turn.callback.url),
            parcel.body,
            message_id=parcel.message_id,
            signer=parcel.signer,
            now=parcel.now,
        )
        try:
            answer = self._egress.send(
                "POST",
                turn.callback.url,
                fields=fields,
                body=parcel.body,
                total_seconds=CALL_SECONDS,
            )
        except (EgressRefused, CallFailed) as error:
            blocked = isinstance(error, EgressRefused)
            log.info("callback_failed callback=%s %s", turn.callback.public_id, told(error))
            outcome = Outcome.BLOCKED if blocked else Outcome.FAILED
            return Result(outcome, None, self._clock() - began)
        asked = retry_after(answer, parcel.now)
        return Result(outcome_of(answer.status), answer.status, answer.seconds, asked)

    def challenge_due(self, *, most: int) -> int:
        """Challenge active callbacks whose time has come → how many."""
        due = self._database.run(lambda s: _due(s, most))
        done = 0
        for tenant_id, callback_id in due:
            begun = self._begin(tenant_id, callback_id)
            if begun is None:
                continue
            found = self._challenger.post(begun)
            done += 1
            try:
                self._database.run(
                    lambda s, t=tenant_id, b=begun, f=found: settle_challenge(  # type: ignore[misc]  # bound now
                        s, t, b, f, by=SERVER
                    )
                )
            except (NotFound, CallbackConflict):
                continue
        return done

    def _begin(self, tenant_id: bytes, callback_id: bytes) -> Challenge | None:
        try:
            return self._database.run(
                lambda s: challenge_again(s, tenant_id, callback_id, self._secrets, agent_id=None)
            )
        except (RateLimited, NotFound, CallbackConflict):
            return None  # it is due again in a quarter of an hour

    def _settle(self, turn: Turn, parcel: Parcel, result: Result) -> bool:
        return self._database.run(lambda s: settle(s, turn, parcel, result))


def _due(session: Session, most: int) -> list[tuple[bytes, bytes]]:
    """(tenant, callback) of those that are due, which other relays leave alone for a while."""
    connection, now = session.connection(), database_now(session)
    rows = connection.execute(
        select(callback.c.tenant_id, callback.c.callback_id)
        .where(callback.c.challenge_due_at <= now)
        .order_by(callback.c.challenge_due_at)
        .limit(most)
        .with_for_update(skip_locked=True)
    ).all()
    if rows:
        _postpone(session, [row.callback_id for row in rows], now)
    return [(row.tenant_id, row.callback_id) for row in rows]


def _postpone(session: Session, ids: list[bytes], now: datetime) -> None:
    session.connection().execute(
        update(callback)
        .where(callback.c.callback_id.in_(ids))
        .values(challenge_due_at=now + TRIED_AFTER)
    )

"""The relay: carries out turns, and has active callbacks challenged when their time has come.

Any number of relays share the work through the rows. To be used without a transaction open.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeVar

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from restante.audit.entries import SERVER
from restante.egress.client import Egress
from restante.egress.refusal import CallFailed, EgressRefused
from restante.egress.url import parse_url
from restante.errors import CallbackConflict, NotFound, Overloaded, RateLimited
from restante.identity.server_keys import ServerKeys
from restante.storage.clock import database_now
from restante.storage.tables.callbacks import callback
from restante.storage.transaction import Database
from restante.webhooks.challenge import Challenge
from restante.webhooks.challenger import Challenger, told
from restante.webhooks.circuit import widened
from restante.webhooks.delivery import Parcel, Result, Round, TurnOver, prepare
from restante.webhooks.judging import TRIED_AFTER, settle_challenge
from restante.webhooks.outcomes import Outcome, outcome_of, retry_after
from restante.webhooks.registration import challenge_again
from restante.webhooks.room import Room
from restante.webhooks.sealed import Secrets
from restante.webhooks.settling import end_turn, give_back, settle
from restante.webhooks.signing import signed_fields
from restante.webhooks.tracing import Tracing, untraced
from restante.webhooks.turns import Taken, Turn, is_current, take_turns

log = logging.getLogger("restante.webhooks")

CALL_SECONDS = 10.0
MOST_A_TURN = 50
TURN_SECONDS = 10.0
"""After so long a turn takes no more events: others wait for its place."""
PATIENCE_SECONDS = 15.0
"""So long a busy database is asked again, before a delivery and after it; a lease is four times as long."""
UNITS = 4
"""Transactions at once: deliveries wait here for each other, and leave connections to all else."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done:
    """A delivery of a turn: whether the turn goes on, and how long the receiver took."""

    goes_on: bool
    seconds: float


SideBySide = Callable[[Callable[[Parcel], Done], Sequence[Parcel]], Iterable[Done]]
"""What carries out the deliveries of one round; `map` does one after another."""


class Relay:
    """One per process that relays."""

    def __init__(
        self,
        database: Database,
        egress: Egress,
        secrets: Secrets,
        keys: ServerKeys,
        *,
        side_by_side: SideBySide = map,
        tracing: Tracing = untraced,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._database = database
        self._egress = egress
        self._secrets = secrets
        self._keys = keys
        self._side_by_side = side_by_side
        self._tracing = tracing
        self._units = threading.BoundedSemaphore(UNITS)
        self._clock = clock
        self._sleep = sleep
        self._challenger = Challenger(database, egress, secrets)

    def take(self, room: Room) -> Taken:
        """Turns for this relay, as it has room."""
        return self._run(lambda s: take_turns(s, room))

    def carry_out(self, turn: Turn) -> int:
        """Deliver until there is nothing, something fails, or it has been long enough → how many went out."""
        began, sent, at_once = self._clock(), 0, turn.at_once
        while sent < MOST_A_TURN and self._clock() - began < TURN_SECONDS:
            try:
                batch = self._prepare(turn, at_once)
            except TurnOver:
                log.info("callback_turn_over callback=%s", turn.callback.public_id)
                return sent
            if not batch.parcels:
                break
            alone = batch.is_last and len(batch.parcels) == 1  # then its settling ends the turn
            deliver = partial(self._deliver, turn, ends_with=at_once if alone else None)
            done = list(self._side_by_side(deliver, batch.parcels))
            sent += len(done)
            if not all(one.goes_on for one in done):
                return sent
            if len(done) == at_once:
                slowest, most = max(one.seconds for one in done), turn.callback.max_in_flight
                at_once = widened(at_once, slowest_seconds=slowest, most=most)
            if batch.is_last:
                break
        else:
            self._end(turn, at_once, idle=False)
            return sent
        self._end(turn, at_once, idle=True)
        return sent

    def give_up(self, turn: Turn) -> None:
        """Something went wrong in it: whoever is next has it in a second, and not when its time is over."""
        self._end(turn, 1, idle=True)

    def post(self, turn: Turn, parcel: Parcel) -> Result:
        """Send it. The URL is judged by the egress, now as ever. Raises TurnOver."""
        with self._tracing(turn, parcel) as attempt:
            result = self._send(turn, parcel, attempt.traceparent)
            attempt.ended(result)
        return result

    def _send(self, turn: Turn, parcel: Parcel, traceparent: str | None) -> Result:
        began = self._clock()
        try:
            fields = signed_fields(
                parse_url(turn.callback.url),
                parcel.body,
                message_id=parcel.message_id,
                signer=parcel.signer,
                now=parcel.now,
            )
            if traceparent is not None:
                fields["traceparent"] = traceparent
            answer = self._egress.send(
                "POST",
                turn.callback.url,
                fields=fields,
                body=parcel.body,
                total_seconds=CALL_SECONDS,
                last_look=partial(self._last_look, turn),
            )
        except (EgressRefused, CallFailed) as error:
            blocked = isinstance(error, EgressRefused)
            log.info("callback_failed callback=%s %s", turn.callback.public_id, told(error))
            outcome = Outcome.BLOCKED if blocked else Outcome.FAILED
            return Result(outcome, None, self._clock() - began)
        asked = retry_after(answer, parcel.now)
        return Result(outcome_of(answer.status), answer.status, answer.seconds, asked)

    def challenge_due(self, *, most: int) -> int:
        """Challenge active callbacks whose time has come → how many. Raises the first error, after all."""
        due = self._run(lambda s: _due(s, most))
        done = 0
        first: Exception | None = None
        for tenant_id, callback_id in due:
            try:
                done += self._challenge(tenant_id, callback_id)
            except Exception as error:  # noqa: BLE001 - raised when the others have had their turn
                first = first or error
        if first is not None:
            raise first
        return done

    def _challenge(self, tenant_id: bytes, callback_id: bytes) -> bool:
        """Whether one was sent."""
        begun = self._begin(tenant_id, callback_id)
        if begun is None:
            return False
        found = self._challenger.post(begun)
        with suppress(NotFound, CallbackConflict):
            self._database.run(lambda s: settle_challenge(s, tenant_id, begun, found, by=SERVER))
        return True

    def _begin(self, tenant_id: bytes, callback_id: bytes) -> Challenge | None:
        try:
            return self._database.run(
                lambda s: challenge_again(s, tenant_id, callback_id, self._secrets, agent_id=None)
            )
        except (RateLimited, NotFound, CallbackConflict):
            return None  # it is due again in a quarter of an hour

    def _prepare(self, turn: Turn, most: int) -> Round:
        return self._patiently(lambda s: prepare(s, turn, self._keys, self._secrets, most=most))

    def _last_look(self, turn: Turn) -> None:
        """The line stands, and not a byte has gone out: raises TurnOver where none is to go out any more."""
        if not self._patiently(lambda s: is_current(s, turn)):
            raise TurnOver

    def _deliver(self, turn: Turn, parcel: Parcel, *, ends_with: int | None) -> Done:
        try:
            result = self.post(turn, parcel)
        except Exception as error:
            self._patiently(lambda s: give_back(s, parcel))
            if not isinstance(error, TurnOver):
                raise  # the turn is still this relay's, and to be given up
            return Done(goes_on=False, seconds=0.0)
        goes_on = self._patiently(lambda s: settle(s, turn, parcel, result, ends_with=ends_with))
        return Done(goes_on=goes_on, seconds=result.seconds)

    def _end(self, turn: Turn, at_once: int, *, idle: bool) -> None:
        self._patiently(lambda s: end_turn(s, turn, at_once=at_once, idle=idle))

    def _patiently(self, work: Callable[[Session], T]) -> T:
        """What is not written down happens again: a busy database is asked a while, within the lease."""
        began = self._clock()
        while True:
            try:
                return self._run(work)
            except Overloaded:
                if self._clock() - began >= PATIENCE_SECONDS:
                    raise
                self._sleep(random.uniform(0.1, 1.0))  # noqa: S311 - jitter

    def _run(self, work: Callable[[Session], T]) -> T:
        with self._units:
            return self._database.run(work)


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

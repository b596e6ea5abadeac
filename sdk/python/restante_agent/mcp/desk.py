"""The leases a harness holds. Fencing numbers stay here: the model has names alone.

A name is good for one claim. So an order that comes late, for a lease that was lost, settles nothing,
also when the same event has been claimed again since.
"""

from __future__ import annotations

import logging
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from mcp.server.mcpserver.exceptions import ToolError

from restante_agent.async_client import AsyncClient
from restante_agent.errors import (
    ConfigurationError,
    NotFound,
    RestanteError,
    StaleClaim,
    ValidationFailed,
)
from restante_agent.mcp.advice import LOST, refusal
from restante_agent.mcp.lease import Lease
from restante_agent.memory_errors import TurnConflict
from restante_agent.model.event import ClaimedEvent
from restante_agent.model.inbox import Claim
from restante_agent.model.settle import Ack, FailureOutcome, Release, Renewed
from restante_agent.runtime.bell import Bell
from restante_agent.runtime.board import Board
from restante_agent.runtime.clock import Clock
from restante_agent.runtime.delivery import Delivery, StopReason
from restante_agent.runtime.leftovers import settle_leftovers
from restante_agent.runtime.outcome import Verb, failed
from restante_agent.runtime.record import Finished, Record
from restante_agent.runtime.renewal import Renewal
from restante_agent.runtime.script import play_async
from restante_agent.runtime.session import FAREWELL
from restante_agent.runtime.work import settle_call
from restante_agent.wire import settle_calls
from restante_agent.wire.call import new_key
from restante_agent.wire.retry import NO_RETRY

log = logging.getLogger("restante_agent")

KNOWN_ENDS = 1_000


@dataclass(frozen=True, slots=True)
class Rules:
    """What the person who starts the server decides.

    `idle_seconds`: how long a lease is kept of which the model says nothing; then the event goes back.
    """

    projects: Sequence[str] | None = None
    lease_seconds: int = 120
    idle_seconds: float = 1800.0
    most_held: int = 10


class Desk:
    """For one event loop."""

    def __init__(
        self, client: AsyncClient, board: Board, *, record: Record, consumer: str, rules: Rules
    ) -> None:
        self.client, self.rules = client, rules
        self._board, self._record, self._consumer = board, record, consumer
        self._renewal = Renewal(client.core, board, lease_seconds=rules.lease_seconds)
        self._held: dict[str, Lease] = {}
        self._ends: dict[str, str] = {}
        self._claim_id: str | None = None
        self._leftovers_settled = False
        self._claiming = anyio.Lock()

    @property
    def clock(self) -> Clock:
        return self._board.clock

    @property
    def held(self) -> list[Lease]:
        return list(self._held.values())

    async def claim(self, limit: int) -> tuple[list[Lease], Claim]:
        """Up to `limit` events that this machine has not finished before."""
        async with self._claiming:
            free = self.rules.most_held - len(self._held)
            if free <= 0:
                names = ", ".join(self._held)
                raise ToolError(
                    f"{len(self._held)} leases are held already: {names}. Next: settle them."
                )
            if not self._leftovers_settled:
                leftovers = settle_leftovers(self.client.core, self._record, self._consumer)
                await play_async(self.client, leftovers)
                self._leftovers_settled = True
            while True:
                claim = await self._claimed(min(limit, free))
                begun = [event for event in claim.events if not await self._finished(event)]
                if begun or not claim.events:
                    return [self._begin(event, claim.sent_at) for event in begun], claim

    async def _claimed(self, limit: int) -> Claim:
        rules = self.rules
        self._claim_id = self._claim_id or new_key()
        claim = await self.client.claim(
            limit=limit,
            lease_seconds=rules.lease_seconds,
            consumer=self._consumer,
            claim_id=self._claim_id,
            projects=rules.projects,
        )
        self._claim_id = None
        return claim

    def _begin(self, event: ClaimedEvent, since: float) -> Lease:
        clock = self._board.clock
        lease = Lease(Delivery(event, monotonic=clock.monotonic), clock.monotonic())
        self._held[lease.name] = lease
        lease.delivery.on_stop(partial(self._stopped, lease))
        self._board.leases.take(
            lease.delivery, since=since, remaining_seconds=event.lease_remaining_ms / 1000
        )
        self._board.changed.notify_all()
        log.info("claim event_id=%s generation=%d", event.event_id, event.claim_generation)
        return lease

    async def _finished(self, event: ClaimedEvent) -> bool:
        """Whether it was finished here before; then its ack is repeated, and nobody works it again."""
        known: Finished | None = self._record.find(event.event_id)
        if known is None:
            return False
        try:
            await self.client.ack(event.event_id, event.claim_generation, result=known.result)
        except (StaleClaim, NotFound):
            log.info("known-stale event_id=%s", event.event_id)
        except ValidationFailed:
            await self.client.ack(event.event_id, event.claim_generation)
        return True

    def find(self, name: str) -> Lease:
        """The lease of this name, still held; ToolError says what became of it, or which there are."""
        lease = self._held.get(name)
        if lease is None:
            raise ToolError(self._why_not(name))
        if lease.settling:
            raise ToolError(
                f"Another call is ending {name} at this moment. Next: wait for its answer."
            )
        lease.touched_at = self._board.clock.monotonic()
        return lease

    def _why_not(self, name: str) -> str:
        if name in self._ends:
            return self._ends[name]
        for lease in self._held.values():
            if lease.event.event_id == name:
                return f"That is an event's id. Next: the same tool with lease={lease.name}."
        names = ", ".join(self._held) or "none"
        return f"No lease of that name is held; held: {names}. Next: held, or claim."

    async def settle(self, lease: Lease, verb: Verb) -> Any:
        """End the lease by its own fencing number; the answer. Refused for its wording, it stays held."""
        event_id, word = lease.event.event_id, type(verb).__name__.lower()
        lease.settling, lease.tried = True, word
        try:
            if isinstance(verb, Ack):
                await self._remember(event_id, verb.result)
            answer = await self.client.perform(settle_call(self.client.core, lease.delivery, verb))
        except (StaleClaim, NotFound):
            lease.delivery.stop(StopReason.LEASE_LOST)
            raise
        except TurnConflict as error:
            if error.is_stale:
                lease.delivery.stop(StopReason.LEASE_LOST)
            raise
        finally:
            lease.settling = False
        self._end(lease, f"{lease.name} was ended by your {word}. Next: claim.")
        log.info("%s event_id=%s", word, event_id)
        return answer

    async def renew(self, lease: Lease, progress: Mapping[str, Any] | None) -> Renewed:
        """Renew at once and tell the progress."""
        event = lease.event
        try:
            renewed: Renewed = await self.client.perform(
                settle_calls.renew(
                    self.client.core,
                    event.event_id,
                    event.claim_generation,
                    lease_seconds=self.rules.lease_seconds,
                    progress=progress,
                )
            )
        except (StaleClaim, NotFound):
            lease.delivery.stop(StopReason.LEASE_LOST)
            raise
        self._board.leases.renewed(
            lease.delivery,
            since=renewed.sent_at,
            remaining_seconds=renewed.lease_remaining_ms / 1000,
        )
        if renewed.cancel_requested:
            lease.delivery.stop(StopReason.CANCEL_REQUESTED)
        return renewed

    async def keep(self) -> None:
        """Renew for as long as it is not cancelled; give back what the model forgot."""
        board = self._board
        client = self.client.with_options(retry=NO_RETRY, read_seconds=self._renewal.read_seconds)
        while True:
            left = min(self._renewal.next_at(), self._idle_at()) - board.clock.monotonic()
            if left > 0:
                assert isinstance(board.changed, Bell)  # noqa: S101 - the server's has one
                await board.changed.wait(None if math.isinf(left) else left)
                continue
            for lease in self._forgotten():
                await self.give_back(lease, client, "harness_silent")
            await play_async(client, self._renewal.renew_all(self._renewal.due()))
            self._renewal.give_up_what_is_over()

    async def give_back(self, lease: Lease, client: AsyncClient, code: str) -> None:
        """A failed attempt of which nobody knows what it did."""
        minutes = self.rules.idle_seconds / 60
        self._end(
            lease,
            f"{lease.name} was given back: nothing was said of it for {minutes:.0f} minutes. {LOST}",
        )
        error = failed(code, "the harness did not end the lease", FailureOutcome.UNKNOWN)
        call = settle_call(client.core, lease.delivery, Release(error=error))
        try:
            await client.perform(call)
        except RestanteError as refused:
            log.warning("give-back event_id=%s error=%s", lease.event.event_id, refused)

    async def close(self) -> None:
        """What is held goes back as failed; what was perhaps claimed, and never seen, goes back uncounted."""
        client = self.client.with_options(retry=FAREWELL, read_seconds=5.0)
        for lease in self.held:
            await self.give_back(lease, client, "harness_ended")
        if self._claim_id is not None:
            try:
                await client.release_all(consumer=self._consumer)
            except RestanteError as error:
                log.warning("give-back failed error=%s; the leases end by themselves", error)

    def _forgotten(self) -> list[Lease]:
        last = self._board.clock.monotonic() - self.rules.idle_seconds
        return [one for one in self.held if one.touched_at <= last and not one.settling]

    def _idle_at(self) -> float:
        times = (one.touched_at for one in self.held if not one.settling)
        return min(times, default=math.inf) + self.rules.idle_seconds

    def _stopped(self, lease: Lease, reason: StopReason) -> None:
        if reason is StopReason.CANCEL_REQUESTED:
            return
        tried = f", perhaps by your {lease.tried} whose answer was lost" if lease.tried else ""
        self._end(lease, f"{lease.name} is over ({reason}){tried}. {LOST}")

    def _end(self, lease: Lease, why: str) -> None:
        if self._held.pop(lease.name, None) is None:
            return
        self._board.leases.drop(lease.delivery)
        self._ends[lease.name] = why
        if len(self._ends) > KNOWN_ENDS:
            del self._ends[next(iter(self._ends))]
        self._board.changed.notify_all()

    async def _remember(self, event_id: str, result: Mapping[str, Any] | None) -> None:
        try:
            await anyio.to_thread.run_sync(self._record.add, event_id, result)
        except sqlite3.Error as error:
            raise ConfigurationError(f"the record cannot be written: {error}") from error


@contextmanager
def calling() -> Iterator[None]:
    """Within it a refusal of the server becomes words for the model."""
    try:
        yield
    except RestanteError as error:
        raise refusal(error) from error

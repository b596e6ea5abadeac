"""Relays webhooks: a callback's turn has a thread of its own, and so has each delivery of a round.

So a slow receiver delays no other; how many turns there may be, of whom, is the room's question.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from typing import TYPE_CHECKING

from config import Settings
from restante.egress.client import Egress
from restante.identity.server_keys import Purpose, ServerKeys
from restante.storage.transaction import Database
from restante.webhooks.delivery import Parcel
from restante.webhooks.relay import Done, Relay
from restante.webhooks.room import PLACES, Room
from restante.webhooks.sealed import Secrets
from restante.webhooks.turns import Turn
from workers.delivery_spans import delivery_spans
from workers.service import EXPECTED, Service

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger("restante.workers")

CHALLENGES = 5


def make_relay(
    database: Database, settings: Settings, egress: Egress, spans: TracerProvider | None = None
) -> Relay:
    """The relay of a process. `spans`: where those of its deliveries go."""
    keys = ServerKeys(settings.secret_keys, Purpose.WEBHOOK)
    secrets = Secrets(settings.secret_keys)
    return Relay(
        database,
        egress,
        secrets,
        keys,
        side_by_side=side_by_side,
        tracing=delivery_spans(spans),
    )


def side_by_side(work: Callable[[Parcel], Done], parcels: Sequence[Parcel]) -> list[Done]:
    """The deliveries of a round, each in a thread that ends with it."""
    if len(parcels) == 1:
        return [work(parcels[0])]
    with ThreadPoolExecutor(len(parcels), thread_name_prefix="restante-delivery") as threads:
        return list(threads.map(work, parcels))


class Webhooks(Service):
    """One pass: the turns there are, as many as threads are free. By itself it waits for all of them."""

    name = "webhooks"
    pause_seconds = 0.5

    def __init__(self, relay: Relay) -> None:
        super().__init__()
        self._relay = relay
        # one more for the challenges
        self._threads = ThreadPoolExecutor(PLACES + 1, thread_name_prefix="restante-webhook")
        self._running: dict[Future[int], Turn] = {}
        self._challenging = threading.Lock()
        self._waits = True

    def start(self) -> None:
        self._waits = False
        super().start()

    def finish(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def run_once(self) -> Mapping[str, int]:
        self._running = {future: t for future, t in self._running.items() if not future.done()}
        challenged = self._threads.submit(self._challenge)
        room = Room.beside(self._running.values())
        if room.free <= 0:
            return {"turns": 0}
        taken = self._relay.take(room)
        begun = {self._threads.submit(self._carry_out, turn): turn for turn in taken.turns}
        self._running |= begun
        if self._waits:
            wait([*begun, challenged])
            return {"turns": len(begun), "sent": sum(one.result() for one in begun)}
        return {"turns": len(begun), "more": int(taken.more)}

    def _carry_out(self, turn: Turn) -> int:
        try:
            return self._relay.carry_out(turn)
        except Exception as error:
            unexpected = not isinstance(error, EXPECTED)
            told = (turn.callback.public_id, type(error).__name__)
            log.warning("callback_turn_failed callback=%s error=%s", *told, exc_info=unexpected)
            with suppress(*EXPECTED):  # else it is due again when the turn's time is over
                self._relay.give_up(turn)
            return 0

    def _challenge(self) -> int:
        if not self._challenging.acquire(blocking=False):
            return 0  # those of the pass before still run
        try:
            return self._relay.challenge_due(most=CHALLENGES)
        except Exception as error:
            unexpected = not isinstance(error, EXPECTED)
            told = type(error).__name__
            log.warning("callback_challenges_failed error=%s", told, exc_info=unexpected)
            return 0
        finally:
            self._challenging.release()

"""Relays webhooks: a callback's turn has a thread of its own, so that a slow receiver delays no other."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait

from config import Settings
from restante.egress.client import Egress
from restante.identity.server_keys import Purpose, ServerKeys
from restante.storage.transaction import Database
from restante.webhooks.relay import Relay
from restante.webhooks.sealed import Secrets
from restante.webhooks.turns import Turn
from workers.service import Service

log = logging.getLogger("restante.workers")

THREADS = 24
CHALLENGES = 5


def make_relay(database: Database, settings: Settings, egress: Egress) -> Relay:
    """The relay of a process."""
    keys = ServerKeys(settings.secret_keys, Purpose.WEBHOOK)
    return Relay(database, egress, Secrets(settings.secret_keys), keys)


class Webhooks(Service):
    """One pass: the turns there are, as many as threads are free. By itself it waits for all of them."""

    name = "webhooks"
    pause_seconds = 0.5

    def __init__(self, relay: Relay) -> None:
        super().__init__()
        self._relay = relay
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="restante-webhook")
        self._running: set[Future[int]] = set()
        self._lock = threading.Lock()
        self._challenging = threading.Lock()
        self._waits = True

    def start(self) -> None:
        self._waits = False
        super().start()

    def finish(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def run_once(self) -> Mapping[str, int]:
        with self._lock:
            self._running = {future for future in self._running if not future.done()}
            free = THREADS - len(self._running)
        if free <= 0:
            return {"turns": 0}
        turns = self._relay.take(most=free)
        begun = [self._threads.submit(self._carry_out, turn) for turn in turns]
        begun.append(self._threads.submit(self._challenge))
        with self._lock:
            self._running |= set(begun)
        if self._waits:
            wait(begun)
            return {"turns": len(turns), "sent": sum(one.result() for one in begun[:-1])}
        return {"turns": len(turns), "more": int(len(turns) == free)}

    def _carry_out(self, turn: Turn) -> int:
        try:
            return self._relay.carry_out(turn)
        except Exception:
            # it is due again when the turn is over
            log.warning("callback_turn_failed callback=%s", turn.callback.public_id, exc_info=True)
            return 0

    def _challenge(self) -> int:
        if not self._challenging.acquire(blocking=False):
            return 0  # those of the pass before still run
        try:
            return self._relay.challenge_due(most=CHALLENGES)
        except Exception:
            log.warning("callback_challenges_failed", exc_info=True)
            return 0
        finally:
            self._challenging.release()

"""Challenges: counted and committed, posted with no transaction open, judged in another unit of work.

What is lost between the two is a challenge that nobody answered; it may be sent again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy.orm import Session

from restante.audit.entries import Origin
from restante.egress.client import Answer, Egress
from restante.egress.policy import Policy
from restante.egress.refusal import CallFailed, EgressRefused
from restante.egress.verdict import judge_text
from restante.errors import ChallengeFailed, IdempotencyInFlight, Overloaded
from restante.identity.administrators import Administrator
from restante.identity.principal import Principal
from restante.identity.roles import Right
from restante.inbox.idempotency import keep, replay
from restante.storage.clock import database_now
from restante.storage.transaction import Database
from restante.webhooks import registration
from restante.webhooks.approval import about_to, check_reason, decide
from restante.webhooks.callbacks import AddressClass, Callback, Seen, find_callback, find_locked
from restante.webhooks.challenge import CALL_SECONDS, Challenge, Reason, judge
from restante.webhooks.judging import Judgement, settle_challenge
from restante.webhooks.registration import Wanted
from restante.webhooks.sealed import Secrets
from restante.webhooks.states import Status, Step

log = logging.getLogger("restante.webhooks")

UNREACHABLE_SECONDS = 5.5
"""All that the network does is answered after so long: else time would tell what the words do not."""
MOST_AT_ONCE = 32
"""Challenges of one process; each holds a caller, and no connection of the database."""
Sleep = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Key:
    """The Idempotency-Key of a call, and the hash of what it asks."""

    key: str
    request_hash: bytes


class Challenger:
    """One per process. To be used without a transaction open."""

    def __init__(
        self,
        database: Database,
        egress: Egress,
        secrets: Secrets,
        *,
        sleep: Sleep = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.secrets = secrets
        self.egress = egress
        self.sleep = sleep
        self._database = database
        self._clock = clock
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)

    @property
    def policy(self) -> Policy:
        """What URLs are judged by."""
        return self.egress.policy

    def register(
        self, agent: Principal, wanted: Wanted, *, secret: str, by: Origin, key: Key | None = None
    ) -> tuple[Callback, bool]:
        """A new callback that has answered its challenge; True: a request of that key had made it.

        Raises ChallengeFailed (it is there, and may be challenged again) and what the verb does.
        """

        def begin(session: Session) -> Challenge | Callback:
            if key is not None:
                made = replay(session, agent, key.key, key.request_hash)
                if made is not None:
                    return _made(session, agent, made)
            begun = registration.register(
                session, agent, self.secrets, wanted, secret=secret, by=by
            )
            if key is not None:
                keep(session, agent, key.key, begun.callback_id.hex())
            return begun

        with self._place():
            begun = self._database.run(begin)
            if isinstance(begun, Callback):
                return begun, True
            return self.finish(agent.tenant_id, begun, by=by), False

    def again(self, agent: Principal, raw: bytes, *, by: Origin) -> Callback:
        """Challenge one again; raises as `register` does, and NotFound."""
        with self._place():
            begun = self._database.run(
                lambda s: registration.challenge_again(
                    s, agent.tenant_id, raw, self.secrets, agent_id=agent.id
                )
            )
            return self.finish(agent.tenant_id, begun, by=by)

    def again_for(self, who: Administrator, public_id: str) -> Callback:
        """The same, asked for by an administrator; raises what `Administrator.require` does besides."""

        def begin(session: Session) -> Challenge:
            who.require(Right.CALLBACKS_WRITE)
            found = find_callback(session, who.tenant_id, public_id)
            return registration.challenge_again(
                session, who.tenant_id, found.id, self.secrets, agent_id=None
            )

        with self._place():
            return self.finish(who.tenant_id, self._database.run(begin), by=who.by)

    def change(
        self,
        agent: Principal,
        public_id: str,
        changed: Callable[[Callback], Wanted],
        *,
        by: Origin,
    ) -> Callback:
        """Have it as `changed` makes it of what is there; raises as `again` does."""

        def begin(session: Session) -> Challenge | Callback:
            found = find_callback(session, agent.tenant_id, public_id, agent_id=agent.id)
            begun = registration.change(
                session, agent, found.id, self.secrets, changed(found), by=by
            )
            return begun or find_locked(session, agent.tenant_id, found.id)

        with self._place():
            begun = self._database.run(begin)
            if isinstance(begun, Callback):
                return begun
            return self.finish(agent.tenant_id, begun, by=by)

    def finish(self, tenant_id: bytes, challenge: Challenge, *, by: Origin) -> Callback:
        """Post the challenge, judge the answer, write it down. Raises ChallengeFailed."""
        began = self._clock()
        found = self.post(challenge)
        if found.reason is Reason.UNREACHABLE:
            self.wait_from(began)
        settled = self._database.run(
            lambda s: settle_challenge(s, tenant_id, challenge, found, by=by)
        )
        if settled.challenge_reason is not None:
            raise _failed(settled)
        return settled

    def post(self, challenge: Challenge) -> Judgement:
        """What comes of it."""
        try:
            answer = self.egress.send(
                "POST",
                challenge.url,
                fields={"Content-Type": "application/json"},
                body=challenge.body,
                total_seconds=CALL_SECONDS,
            )
        except (EgressRefused, CallFailed) as error:
            return Judgement(Reason.UNREACHABLE, note=told(error))
        reason = judge(challenge, answer)
        seen = None if reason is not None else seen_of(self.policy, challenge.url, answer)
        return Judgement(reason, seen)

    def activate(self, who: Administrator, public_id: str, step: Step, *, reason: str) -> Callback:
        """Approve or resume one, whose URL is judged anew before; raises as `decide` and `check` do."""
        check_reason(reason)
        found, changes = self._database.run(lambda s: about_to(s, who, public_id, step))
        if changes:
            self.check(found.url)
        return self._database.run(
            lambda s: decide(s, who, public_id, step, reason=reason, url=found.url)
        )

    def check(self, url: str) -> None:
        """The whole verdict without a call. CallbackRefused by its text, ChallengeFailed by its addresses."""
        began = self._clock()
        registration.judged(url, self.policy)
        try:
            self.egress.judge(url)
        except (EgressRefused, CallFailed) as error:
            log.info("callback_verdict %s", told(error))
            self.wait_from(began)
            raise ChallengeFailed(reason=Reason.UNREACHABLE.value) from None

    @contextmanager
    def _place(self) -> Iterator[None]:
        """One of the few that may run at once; taken before anything is counted or written."""
        if not self._places.acquire(blocking=False):
            raise Overloaded("As many challenges as may run at once do: repeat it.")
        try:
            yield
        finally:
            self._places.release()

    def wait_from(self, began: float) -> None:
        """Wait for the time at which all that the network does is answered."""
        self.sleep(max(0.0, began + UNREACHABLE_SECONDS - self._clock()))


def told(error: EgressRefused | CallFailed) -> str:
    """What happened, for the operator of the machine."""
    if isinstance(error, EgressRefused):
        return f"refused, {error.reason}: {error.note}"
    return f"failed, {error.cause}: {error.note}"


def seen_of(policy: Policy, url: str, answer: Answer) -> Seen:
    """What an answer came from."""
    target, certificate = judge_text(url, policy), answer.certificate
    allowed = (target.host, target.port) in policy.allowance.hosts
    if allowed or policy.allowance.network_of(answer.address) is not None:
        address = AddressClass.ALLOWED
    else:
        versions = {4: AddressClass.PUBLIC_IPV4, 6: AddressClass.PUBLIC_IPV6}
        address = versions[answer.address.version]
    return Seen(
        address,
        () if certificate is None else certificate.names,
        None if certificate is None else certificate.expires_at,
        round(answer.seconds * 1000),
    )


def _made(session: Session, agent: Principal, made: str) -> Callback:
    """What the first request of a key made, as it stands now."""
    found = find_locked(session, agent.tenant_id, bytes.fromhex(made), agent_id=agent.id)
    if found.status is not Status.CHALLENGE_FAILED:
        return found
    ends_at = found.challenge_ends_at
    if ends_at is not None and database_now(session) < ends_at:
        raise IdempotencyInFlight
    raise _failed(found)


def _failed(found: Callback) -> ChallengeFailed:
    reason = found.challenge_reason or Reason.UNREACHABLE.value
    return ChallengeFailed(reason=reason, callback_id=found.public_id)

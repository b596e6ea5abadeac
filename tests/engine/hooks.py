"""Active callbacks for tests, and a relay whose receivers touch no network."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select, update

from restante.audit.entries import IN_PROCESS
from restante.egress.client import Egress
from restante.egress.policy import Policy
from restante.identity.administrators import Administrator
from restante.identity.roles import Role
from restante.identity.scopes import Verb
from restante.identity.server_keys import Purpose, ServerKeys
from restante.storage.tables.callbacks import callback, callback_attempt
from restante.storage.transaction import Database, Session
from restante.webhooks.approval import decide
from restante.webhooks.callbacks import Callback, Mode, find_locked
from restante.webhooks.challenger import Challenger
from restante.webhooks.registration import IN_FLIGHT, Wanted, judged
from restante.webhooks.relay import Relay
from restante.webhooks.room import Room
from restante.webhooks.sealed import Secrets
from restante.webhooks.states import Step
from tests.factories import Mailbox
from tests.http.callbacks import SECRET, URL, Receiver, right
from tests.support.serving import SECRET_KEY
from tests.unit.egress.canned import PUBLIC, Clock, Names

VERBS = (Verb.READ, Verb.CLAIM, Verb.PUBLISH, Verb.CALLBACK)


@dataclass
class Hooks:
    """A database's callbacks: one receiver answers for all hosts."""

    database: Database
    receiver: Receiver = field(default_factory=Receiver)
    names: Names = field(default_factory=lambda: Names([[PUBLIC]]))
    clock: Clock = field(default_factory=Clock)
    policy: Policy = field(default_factory=Policy)

    def __post_init__(self) -> None:
        self.secrets = Secrets([SECRET_KEY])
        self.egress = Egress(self.policy, resolver=self.names, dial=self.receiver, clock=self.clock)
        self.challenger = Challenger(
            self.database, self.egress, self.secrets, sleep=lambda _: None, clock=self.clock
        )

    def relay(self, database: Any = None) -> Relay:
        """Another relay."""
        keys = ServerKeys([SECRET_KEY], Purpose.WEBHOOK)
        return Relay(database or self.database, self.egress, self.secrets, keys, clock=self.clock)

    def active(
        self,
        mail: Mailbox,
        *,
        mode: Mode = Mode.DELIVER,
        projects: Iterable[str] | None = None,
        url: str = URL,
        max_in_flight: int = IN_FLIGHT,
    ) -> Callback:
        """One that has answered its challenge and is approved."""
        answering, self.receiver.answering = self.receiver.answering, right()
        wanted = Wanted(
            judged(url, self.policy),
            mode,
            None if projects is None else tuple(projects),
            max_in_flight,
        )
        made, _ = self.challenger.register(mail.agent, wanted, secret=SECRET, by=IN_PROCESS)
        self.receiver.answering = answering
        self.receiver.requests.clear()
        return self.decide(made, Step.APPROVE)

    def decide(self, one: Callback, step: Step) -> Callback:
        """What a tenant admin decides."""
        return self.database.run(lambda s: self.decide_in(s, one, step))

    def decide_in(self, session: Session, one: Callback, step: Step) -> Callback:
        """The same, in a transaction that is there."""
        who = Administrator(one.tenant_id, IN_PROCESS, role=Role.TENANT_ADMIN, anew=True)
        return decide(session, who, one.public_id, step, reason="agreed", url=one.url)

    def now(self, one: Callback) -> Callback:
        """As it stands."""
        return self.database.run(lambda s: find_locked(s, one.tenant_id, one.id))

    def row(self, one: Callback) -> Any:
        """Its row."""
        found = select(callback).where(callback.c.callback_id == one.id)
        return self.database.run(lambda s: s.connection().execute(found).one())

    def attempts(self, one: Callback) -> list[tuple[str, int | None]]:
        """(outcome, status) of what was tried, in order."""
        found = (
            select(callback_attempt.c.outcome, callback_attempt.c.status)
            .where(callback_attempt.c.callback_id == one.id)
            .order_by(callback_attempt.c.attempt_id)
        )
        rows = self.database.run(lambda s: s.connection().execute(found).all())
        return [(row.outcome, row.status) for row in rows]

    def make_due(self, one: Callback) -> None:
        """As if its pause were over."""
        statement = update(callback).where(callback.c.callback_id == one.id)
        row = self.row(one)
        self.database.run(lambda s: s.connection().execute(statement.values(due_at=row.created_at)))

    def pass_once(self, relay: Relay | None = None) -> int:
        """One pass of a relay → how many deliveries it made."""
        relay = relay or self.relay()
        return sum(relay.carry_out(turn) for turn in relay.take(Room()).turns)

"""How a recipient can be reached: what is said of it right after a publication."""

from __future__ import annotations

from restante.egress.refusal import Cause
from restante.inbox.reachability import Reachability, reach
from restante.webhooks.states import Step
from tests.engine.hooks import VERBS, Hooks
from tests.factories import Mailbox, make_tenant
from tests.support.databases import TestDatabase


def pending(known: Reachability, mail: Mailbox, new: int = 1) -> int:
    told = mail.run(lambda session: known.of(session, {mail.id: new}))
    number: int = told[mail.id]["pending"]
    return number


def test_what_has_been_settled_meanwhile_is_not_counted(mail: Mailbox) -> None:
    known = Reachability()
    mail.publish()
    assert pending(known, mail) == 1
    mail.ack(mail.take_one())
    mail.publish()
    assert pending(known, mail) == 1
    mail.publish(delay_seconds=60)
    assert pending(known, mail, 0) == 1


def test_who_is_published_to_often_is_looked_at_a_few_times_a_second(mail: Mailbox) -> None:
    now = 0.0
    known = Reachability(clock=lambda: now)
    for number in range(1, 6):
        mail.publish()
        assert pending(known, mail) == number
    mail.ack(mail.take_one())
    assert pending(known, mail, 3) == 8
    now = 1.5
    assert pending(known, mail, 3) == 4


def test_an_active_callback_reaches_who_does_not_ask_until_its_receiver_fails(
    database: TestDatabase,
) -> None:
    hooks, mail = Hooks(database), make_tenant(database).agent(verbs=VERBS)

    def mode() -> str:
        told: str = mail.run(lambda session: reach(session, mail.id))["mode"]
        return told

    assert mode() == "away"
    one = hooks.active(mail)
    assert mode() == "callback"
    hooks.receiver.failing = Cause.CONNECT
    mail.publish()
    hooks.pass_once()
    assert mode() == "away"
    hooks.decide(one, Step.SUSPEND)
    hooks.decide(one, Step.RESUME)
    assert mode() == "callback"
    hooks.decide(one, Step.SUSPEND)
    assert mode() == "away"

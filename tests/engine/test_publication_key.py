"""A publication's own idempotency_key: unique per producer, recipient and key (contract section 3)."""

from __future__ import annotations

import pytest

from restante.errors import IdempotencyKeyReused, ValidationFailed
from restante.identity.principal import PrincipalKind
from restante.identity.scopes import TenantScope
from restante.inbox.lifecycle import Gate
from tests.engine.snapshot import unchanged
from tests.factories import Mailbox, Tenant, pass_time


def test_the_same_body_again_is_the_same_event(mail: Mailbox) -> None:
    first = mail.publish(idempotency_key="k")
    with unchanged(mail.database):
        again = mail.publish(idempotency_key="k", traceparent="another")
    assert (again.event_id, again.sequence_number) == (first.event_id, 1)
    assert (first.existing, again.existing) == (False, True)


def test_the_repeat_tells_what_has_become_of_it(mail: Mailbox) -> None:
    first = mail.publish(idempotency_key="k")
    mail.ack(mail.take_one())
    assert mail.publish(idempotency_key="k").gate is Gate.COMPLETED
    pass_time(mail.database, days=31)
    assert mail.retain() == 1
    archived = mail.publish(idempotency_key="k")
    assert (archived.event_id, archived.existing) == (first.event_id, True)
    assert archived.gate is Gate.COMPLETED
    later = mail.publish(idempotency_key="l", delay_seconds=9)
    again = mail.publish(idempotency_key="l", delay_seconds=9)
    assert (again.event_id, again.gate) == (later.event_id, Gate.SCHEDULED)


@pytest.mark.parametrize(
    "other", [{"payload": b"{}"}, {"type": "u"}, {"priority": 1}, {"delay_seconds": 1}], ids=str
)
def test_another_body_is_refused_and_nothing_of_the_call_is_written(
    mail: Mailbox, other: dict[str, object]
) -> None:
    mail.publish(idempotency_key="k")
    with unchanged(mail.database), pytest.raises(IdempotencyKeyReused):
        mail.publish_many([mail.publication(), mail.publication(idempotency_key="k", **other)])


def test_twice_in_one_call_is_refused(mail: Mailbox) -> None:
    with unchanged(mail.database), pytest.raises(ValidationFailed) as refused:
        mail.publish_many([mail.publication(idempotency_key="k") for _ in range(2)])
    assert refused.value.members["errors"][0]["pointer"] == "/events/1/idempotency_key"


def test_a_key_belongs_to_producer_and_recipient(mail: Mailbox, tenant: Tenant) -> None:
    other = tenant.agent()
    second = tenant.principal(PrincipalKind.SERVICE, [TenantScope.EVENTS_PUBLISH])
    made = [
        mail.publish(idempotency_key="k"),
        mail.publish(idempotency_key="k", producer=second),
        other.publish(idempotency_key="k"),
    ]
    assert [p.existing for p in made] == [False] * 3
    both = mail.publish_many(
        [mail.publication(idempotency_key="k", recipients=(other.id, mail.id, tenant.agent().id))]
    )
    assert [p.existing for p in both] == [True, True, False]
    assert [p.event_id for p in both[:2]] == [made[2].event_id, made[0].event_id]


def test_keys_are_compared_exactly(mail: Mailbox) -> None:
    keys = ["k", "K", "k ", " k", "\u00e9", "e\u0301"]
    made = [mail.publish(idempotency_key=key) for key in keys]
    assert [p.existing for p in made] == [False] * len(keys)

"""`max_pending`, of an agent and of a tenant: a publish beyond it writes nothing (contract section 3)."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from restante.errors import InboxFull
from restante.inbox.orders import Ack, Reject
from restante.storage.tables.identity import tenant as tenants
from tests.engine.snapshot import unchanged
from tests.factories import Mailbox, Tenant, pass_time, set_rules


def refused(mail: Mailbox, number: int = 1, **members: object) -> dict[str, object]:
    with unchanged(mail.database), pytest.raises(InboxFull) as full:
        mail.publish_many(mail.publication(**members) for _ in range(number))
    return full.value.members


def test_a_publish_beyond_the_limit_names_the_full_inbox(mail: Mailbox, tenant: Tenant) -> None:
    other = tenant.agent()
    mail.set_limits(max_pending=3)
    mail.publish_many(mail.publication() for _ in range(2))
    assert refused(mail, 2) == {"recipients": [mail.agent.public_id]}
    assert refused(mail, 2, recipients=(other.id, mail.id)) == {
        "recipients": [mail.agent.public_id]
    }
    mail.publish()
    assert refused(mail) == {"recipients": [mail.agent.public_id]}
    other.publish()


def test_what_waits_counts_whatever_it_waits_for(mail: Mailbox) -> None:
    mail.set_limits(max_pending=4)
    mail.publish(delay_seconds=60)
    mail.publish(ordering_key="k")
    mail.publish(ordering_key="k")
    mail.publish()
    refused(mail)
    mail.release(mail.take(limit=2)[1], delay=60)
    mail.publish()  # the other is claimed
    refused(mail)


def test_the_end_of_an_event_makes_room(mail: Mailbox) -> None:
    mail.set_limits(max_pending=2)
    for end in ("ack", "reject", "cancel", "expire"):
        mail.publish_many(mail.publication(expires_in_seconds=60) for _ in range(2))
        refused(mail)
        match end:
            case "ack":
                mail.settle(*(Ack(e.id, e.generation) for e in mail.take()))
            case "reject":
                mail.settle(*(Reject(e.id, e.generation, "never") for e in mail.take()))
            case "cancel":
                for event in mail.take():
                    mail.cancel(event.id)
                    mail.release(event)
            case "expire":
                pass_time(mail.database, 60)
                mail.run_due()


def test_a_scheduled_event_that_comes_due_is_counted_once(mail: Mailbox) -> None:
    mail.set_limits(max_pending=2)
    mail.publish(delay_seconds=5)
    pass_time(mail.database, 5)
    mail.run_due()
    mail.publish()
    refused(mail)


def test_what_is_given_back_counts_again(mail: Mailbox) -> None:
    """Counted while it was claimed, the inbox is fuller afterwards than the count had said."""
    mail.set_limits(max_pending=3)
    mail.publish_many(mail.publication() for _ in range(3))
    held = mail.take()
    mail.publish_many(mail.publication() for _ in range(2))
    for event in held:
        mail.release(event)
    refused(mail)


def test_the_installations_limit_holds_where_the_agent_has_none(mail: Mailbox) -> None:
    set_rules(mail.database, max_pending=2)
    mail.publish_many(mail.publication() for _ in range(2))
    refused(mail)
    mail.set_limits(max_pending=3)
    mail.publish()


def test_a_tenants_own_limit(mail: Mailbox, tenant: Tenant) -> None:
    limit = update(tenants).values(max_pending=3)
    mail.run(lambda s: s.connection().execute(limit))
    other = tenant.agent()
    mail.publish()
    other.publish(delay_seconds=60)
    assert refused(mail, 2) == {"recipients": [], "tenant_max_pending": 3}
    mail.publish()
    refused(mail)
    mail.ack(mail.take_one())
    mail.publish()

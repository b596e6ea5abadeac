"""Which commits ring, and that a rollback does not."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from restante.inbox.publish import publish
from restante.signals.hub import Hub
from restante.signals.rings import ON_RING, Ring
from restante.storage.tables.signals import wake
from tests.factories import Mailbox, Tenant, pass_time
from tests.support.databases import TestDatabase


@pytest.fixture
def hub(database: TestDatabase) -> Hub:
    hub = Hub()
    database.info[ON_RING] = hub.ring_many
    return hub


def wakes(database: TestDatabase) -> int:
    count = select(func.count()).select_from(wake)
    return database.run(lambda session: session.connection().execute(count).scalar_one())


def test_a_publish_rings_its_recipients_once_each(
    database: TestDatabase, hub: Hub, tenant: Tenant, mail: Mailbox
) -> None:
    other, stranger = tenant.agent(), tenant.agent()
    p = tenant.projects["p"].id
    bells = [hub.listen(who.id, [p]) for who in (mail, other, stranger)]
    mail.publish_many([mail.publication(recipients=(mail.id, other.id)) for _ in range(3)])
    assert [bell.take() for bell in bells] == [True, True, False]
    assert [bell.head for bell in bells] == [3, 3, 0]
    assert hub.rings == 2
    assert wakes(database) == 2


def test_a_rollback_rings_nothing(database: TestDatabase, hub: Hub, mail: Mailbox) -> None:
    bell = hub.listen(mail.id, [p.id for p in mail.tenant.projects.values()])

    def work(session: Session) -> None:
        publish(session, mail.tenant.service, [mail.publication()])
        raise RuntimeError("changed my mind")

    with pytest.raises(RuntimeError):
        database.run(work)
    assert not bell.rung
    assert wakes(database) == 0
    assert mail.inbox_row().head == 0


def test_what_makes_an_event_claimable_again_rings(hub: Hub, mail: Mailbox) -> None:
    bell = hub.listen(mail.id, [mail.tenant.projects["p"].id])
    mail.publish()
    assert bell.take()
    event = mail.take_one()
    assert not bell.rung
    mail.release(event)
    assert bell.take()
    mail.fail(mail.take_one(), delay=60)
    assert not bell.rung
    pass_time(mail.database, 61)
    mail.run_due()
    assert bell.take()
    mail.take_one(lease_seconds=10)
    pass_time(mail.database, 11)
    mail.run_due()
    pass_time(mail.database, 10)
    mail.run_due()
    assert bell.take()


def test_a_scheduled_event_rings_when_it_is_due(hub: Hub, mail: Mailbox) -> None:
    bell = hub.listen(mail.id, [mail.tenant.projects["p"].id])
    mail.publish(delay_seconds=60.0)
    assert not bell.rung
    pass_time(mail.database, 61)
    mail.run_due()
    assert bell.take()
    assert bell.head == 1


def test_the_end_of_a_keys_head_rings_for_the_next(hub: Hub, mail: Mailbox) -> None:
    mail.publish_many([mail.publication(ordering_key="k") for _ in range(2)])
    first = mail.take_one()
    bell = hub.listen(mail.id, [mail.tenant.projects["p"].id])
    mail.ack(first)
    assert bell.take()


def test_a_ring_names_inbox_project_and_head(database: TestDatabase, mail: Mailbox) -> None:
    told: list[Ring] = []
    database.info[ON_RING] = told.extend
    mail.publish()
    mail.publish(project="q")
    p, q = (mail.tenant.projects[slug].id for slug in "pq")
    assert told == [Ring(mail.id, p, 1), Ring(mail.id, q, 2)]

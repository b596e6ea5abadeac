"""The table of inboxes: in the order of each column, paged under it, narrowed; what is about to be full."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import insert, select

from restante.errors import PageTokenInvalid
from restante.identity.administrators import Administrator
from restante.inbox.attention import INBOXES, attention
from restante.inbox.filling import list_filling
from restante.inbox.inbox_narrowing import Which
from restante.inbox.inbox_table import By, InboxPage, list_inboxes
from restante.inbox.untaken import SINCE
from restante.sampling.history import HALF_HOUR, slot_of
from restante.sampling.inbox_history import KEPT, SLOT, SLOTS, trails, write_depths
from restante.storage.clock import database_now
from restante.storage.tables.inboxes import presence
from restante.storage.tables.operation import inbox_history
from tests.engine.test_inbox_list import operator
from tests.engine.triage import poison
from tests.factories import Mailbox, make_tenant, pass_time
from tests.support.databases import TestDatabase
from workers.pruner import Pruner
from workers.sampler import Sampler


def table(mail: Mailbox, **asked) -> InboxPage:
    who = operator(mail.tenant.id)
    return mail.run(lambda s: list_inboxes(s, who, **{"limit": 100} | asked))


def ids(page: InboxPage) -> list[bytes]:
    return [line.agent.id for line in page.lines]


def seen(mail: Mailbox, ago: timedelta) -> None:
    values = {"recipient_id": mail.id, "last_seen_at": mail.run(database_now) - ago}
    mail.run(lambda s: s.connection().execute(insert(presence), values))


@pytest.fixture
def five(mail: Mailbox) -> list[Mailbox]:
    """By name: pending 2, 0, 1, 2, 0; the fourth waits longest; in flight and in quarantine one each."""
    agents = [mail, *(mail.tenant.agent() for _ in range(4))]
    agents.sort(key=lambda one: one.agent.name)
    first, second, third, fourth, _ = agents
    fourth.publish_many([fourth.publication()] * 2)
    pass_time(mail.database, 10)
    third.publish()
    pass_time(mail.database, 10)
    first.publish_many([first.publication()] * 2)
    poison(second, 1)
    second.publish()
    second.take_one()
    seen(third, timedelta(hours=1))
    seen(first, timedelta(days=1))
    Sampler(mail.database).run_once()
    return agents


@pytest.mark.parametrize(
    ("by", "forwards", "backwards"),
    [
        (By.NAME, "01234", "43210"),
        (By.PENDING, "30214", "20314"),
        (By.OLDEST, "32014", "02314"),
        (By.CLAIMED, "10234", "10234"),
        (By.QUARANTINED, "10234", "10234"),
        (By.SEEN, "20134", "02134"),
    ],
)
def test_each_column_orders_and_pages_hold_under_it(
    five: list[Mailbox], by: By, forwards: str, backwards: str
) -> None:
    """What has nothing to be ordered by comes last both ways; what is alike goes by name."""
    mail = five[0]
    for turned, expected in ((False, forwards), (True, backwards)):
        found: list[bytes] = []
        token = None
        while True:
            page = table(mail, limit=2, token=token, by=by, backwards=turned)
            found += ids(page)
            if (token := page.next_page_token) is None:
                break
            with pytest.raises(PageTokenInvalid):
                table(mail, token=token, by=by, backwards=not turned)
        assert found == [five[int(number)].id for number in expected], turned


def test_the_table_is_narrowed(five: list[Mailbox]) -> None:
    first, second, third, fourth, fifth = five
    seen(second, timedelta(0))
    third.set_limits(paused=True)
    fourth.set_limits(status="disabled", max_pending=2)
    fifth.set_limits(status="removed")
    first.set_limits(max_pending=3)
    by_name = {which: ids(table(first, which=which)) for which in (None, *Which)}
    assert by_name == {
        None: [first.id, second.id, third.id, fourth.id],
        Which.ACTIVE: [first.id, second.id, third.id],
        Which.AWAY: [first.id],
        Which.AWAY_WITH_MAIL: [first.id],
        Which.PAUSED: [third.id],
        Which.FULL: [fourth.id],
        Which.DISABLED: [fourth.id],
        Which.REMOVED: [fifth.id],
    }
    assert ids(table(first, begins=first.agent.name)) == [first.id]
    assert ids(table(first, begins="%")) == []


def test_nothing_sampled_yet_is_in_the_order_of_names(mail: Mailbox) -> None:
    agents = sorted([mail, mail.tenant.agent()], key=lambda one: one.agent.name)
    for by in By:
        page = table(mail, by=by)
        assert (ids(page), page.slot_at) == ([one.id for one in agents], None)


def test_of_others_there_is_nothing(five: list[Mailbox], database: TestDatabase) -> None:
    rival = make_tenant(database).agent()
    for by in By:
        assert ids(table(rival, by=by)) == [rival.id]
        assert rival.id not in ids(table(five[0], by=by))
    assert rival.run(lambda s: list_filling(s, operator(rival.tenant.id))) == []


def test_what_is_about_to_be_full_is_found_by_what_lies_and_is_still_to_come(
    five: list[Mailbox],
) -> None:
    first, _, third, fourth, _ = five
    who = operator(first.tenant.id)
    third.publish_many([third.publication(delay_seconds=600)] * 3)
    third.set_limits(max_pending=5)
    fourth.set_limits(max_pending=2)
    first.set_limits(max_pending=3)
    pass_time(first.database, 15)
    Sampler(first.database).run_once()
    found = first.run(lambda s: list_filling(s, who))
    assert [(one.agent.id, one.unsettled, one.most) for one in found] == [
        (fourth.id, 2, 2),
        (third.id, 4, 5),
    ]


def test_the_deepest_are_looked_at_and_not_those_that_had_the_most_mail(mail: Mailbox) -> None:
    """A bound only grows; the sample knows what lies there."""
    others = [mail.tenant.agent() for _ in range(INBOXES)]
    for other in others:
        other.publish_many([other.publication()] * 3)
        for event in other.take(limit=2):
            other.ack(event)
    mail.publish_many([mail.publication()] * 2)
    Sampler(mail.database).run_once()
    found = mail.run(lambda s: attention(s, operator(mail.tenant.id)))
    assert found.inboxes[0].agent.id == mail.id


def test_leases_that_ended_are_told_of_until_somebody_takes_them_up(mail: Mailbox) -> None:
    who: Administrator = operator(mail.tenant.id)

    def told() -> list[tuple[bytes, int]]:
        found = mail.run(lambda s: attention(s, who)).untaken
        return [(one.line.agent.id, one.count) for one in found]

    mail.publish_many([mail.publication(project=slug) for slug in "pqp"])
    mail.take(limit=3, lease_seconds=30)
    pass_time(mail.database, 31)
    assert told() == []
    pass_time(mail.database, SINCE.total_seconds())
    assert told() == [(mail.id, 3)], "nobody has rewritten their rows"
    mail.run_due()
    pass_time(mail.database, SINCE.total_seconds() + 900)  # after any backoff
    mail.run_due()
    assert told() == [(mail.id, 3)]
    rival = operator(make_tenant(mail.database).id)
    assert mail.run(lambda s: attention(s, rival)).untaken == []
    mail.take(limit=2)
    assert told() == [(mail.id, 1)]


def test_a_day_of_an_inbox_is_kept_by_half_hours(mail: Mailbox, database: TestDatabase) -> None:
    quiet, sampler = mail.tenant.agent(), Sampler(database)
    both = [mail.id, quiet.id]

    def trail(agent: Mailbox) -> list[int | None]:
        return list(mail.run(lambda s: trails(s, mail.tenant.id, both))[agent.id])

    now = mail.run(database_now)
    pass_time(
        database, (slot_of(now, HALF_HOUR) + SLOT - now).total_seconds()
    )  # to a slot's beginning
    mail.publish()
    sampler.run_once()
    assert (trail(mail)[-2:], trail(quiet)[-2:]) == ([None, 1], [None, 0])
    pass_time(database, SLOT.total_seconds())
    mail.publish()
    sampler.run_once()
    mail.take(limit=2)
    pass_time(database, 15)
    sampler.run_once()  # the last sample of a slot says how it stood
    assert (trail(mail)[-3:], trail(quiet)[-3:]) == ([None, 1, 0], [None, 0, 0])
    assert len(trail(mail)) == SLOTS
    rows = select(inbox_history.c.recipient_id)
    assert {row.recipient_id for row in mail.run(lambda s: s.connection().execute(rows).all())} == {
        mail.id
    }
    pass_time(database, KEPT.total_seconds() + 1)
    assert trail(mail)[-1] is None, "nobody is there to tell"
    while Pruner(database).run_once()["inbox_history"]:
        pass
    assert mail.run(lambda s: s.connection().execute(rows).all()) == []
    assert mail.run(lambda s: write_depths(s, database_now(s), [])) == 0

"""How inboxes stand: what the sampler keeps of them, and the order that pages have from it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from restante.inbox.attention import INBOXES, attention
from restante.inbox.filling import COUNTED, list_filling
from restante.inbox.inbox_narrowing import Which
from restante.inbox.inbox_table import By, list_inboxes
from restante.inbox.lifecycle import Status
from restante.sampling.depths import depths
from restante.sampling.inbox_standing import write_inboxes
from restante.storage.tables.operation import inbox_standing
from tests.engine.test_inbox_list import operator
from tests.factories import Mailbox, make_tenant, pass_time, set_rules
from tests.support.databases import TestDatabase
from workers.sampler import Sampler

LYING = (By.PENDING, By.OLDEST, By.CLAIMED, By.QUARANTINED)


def paged(mail: Mailbox, limit: int, **asked: Any) -> list[bytes]:
    found: list[bytes] = []
    token = None
    while True:
        now = {"limit": limit, "token": token, **asked}
        page = mail.run(lambda s, now=now: list_inboxes(s, operator(mail.tenant.id), **now))
        found += [line.agent.id for line in page.lines]
        if (token := page.next_page_token) is None:
            return found


def standing(mail: Mailbox) -> dict[bytes, tuple[int, ...]]:
    rows = mail.run(lambda s: s.connection().execute(select(inbox_standing)).all())
    return {
        row.recipient_id: (row.pending, row.scheduled, row.claimed, row.quarantined, row.unsettled)
        for row in rows
    }


def sample(mail: Mailbox) -> None:
    pass_time(mail.database, 15)
    Sampler(mail.database).run_once()


@pytest.fixture
def seven(mail: Mailbox) -> list[Mailbox]:
    """In the order of ids and names: pending 1, 0, 2, 1, 0, 1, 0."""
    agents = [mail, *(mail.tenant.agent() for _ in range(6))]
    for agent, number in zip(agents, (1, 0, 2, 1, 0, 1, 0), strict=True):
        for _ in range(number):
            agent.publish()
    sample(mail)
    return agents


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
def test_pages_go_on_from_those_that_hold_something_to_those_that_do_not(
    seven: list[Mailbox], limit: int
) -> None:
    """What is alike goes by id, the same way round; the others by name, either way."""
    for backwards, expected in ((False, "2530146"), (True, "0352146")):
        found = paged(seven[0], limit, by=By.PENDING, backwards=backwards)
        assert found == [seven[int(n)].id for n in expected], backwards


@pytest.mark.parametrize("by", By)
def test_each_is_there_once_however_it_is_narrowed(seven: list[Mailbox], by: By) -> None:
    first = seven[0]
    seven[1].set_limits(paused=True)
    seven[2].set_limits(max_pending=2)
    seven[3].set_limits(status="disabled")
    shown = {
        None: "0123456",
        Which.ACTIVE: "012456",
        Which.PAUSED: "1",
        Which.DISABLED: "3",
        Which.FULL: "2",
        Which.AWAY: "02456",
        Which.AWAY_WITH_MAIL: "025",
    }
    for backwards in (False, True):
        for which, expected in shown.items():
            found = paged(first, 2, by=by, backwards=backwards, which=which)
            assert sorted(found) == [seven[int(n)].id for n in expected], (which, backwards)
        name = seven[5].agent.name
        assert paged(first, 2, by=by, backwards=backwards, begins=name) == [seven[5].id]


def test_what_became_empty_and_who_is_new_go_with_those_that_hold_nothing(
    seven: list[Mailbox],
) -> None:
    deepest = seven[2]
    for event in deepest.take(limit=2):
        deepest.ack(event)
    new = deepest.tenant.agent()
    for by in LYING:
        assert paged(deepest, 3, by=by)[-1] == new.id, "it has no row"
    sample(deepest)
    assert deepest.id not in standing(deepest)
    assert paged(deepest, 3, by=By.PENDING) == [
        *(seven[n].id for n in (5, 3, 0)),
        *(seven[n].id for n in (1, 2, 4, 6)),
        new.id,
    ]


def test_a_row_for_each_in_which_anything_lies_written_when_it_changed(mail: Mailbox) -> None:
    claims, empty, waits = (mail.tenant.agent() for _ in range(3))
    claims.publish()
    claims.take_one()
    waits.publish(delay_seconds=600)
    mail.publish()
    mail.publish(delay_seconds=600)
    sample(mail)
    assert standing(mail) == {
        mail.id: (1, 1, 0, 0, 2),
        claims.id: (0, 0, 1, 0, 0),
        waits.id: (0, 1, 0, 0, 1),
    }
    lie, _ = mail.run(lambda s: depths(s, b""))
    assert mail.run(lambda s: write_inboxes(s, lie)) == 0
    assert mail.run(lambda s: write_inboxes(s, [])) == 0
    changed = [replace(one, pending=5) if one.recipient_id == empty.id else one for one in lie]
    assert mail.run(lambda s: write_inboxes(s, changed)) == 1
    assert standing(mail)[empty.id] == (5, 0, 0, 0, 5)
    assert mail.run(lambda s: write_inboxes(s, lie)) == 1
    assert empty.id not in standing(mail)


def test_each_tenant_has_its_own(seven: list[Mailbox], database: TestDatabase) -> None:
    rival = make_tenant(database).agent()
    rival.publish_many([rival.publication()] * 9)
    sample(rival)
    who = operator(rival.tenant.id)
    for by in By:
        assert paged(rival, 5, by=by) == [rival.id]
        assert sorted(paged(seven[0], 5, by=by)) == [one.id for one in seven]
    assert [one.agent.id for one in rival.run(lambda s: attention(s, who)).inboxes] == [rival.id]
    set_rules(database, max_pending=10)
    assert [one.agent.id for one in rival.run(lambda s: list_filling(s, who))] == [rival.id]
    assert seven[0].run(lambda s: list_filling(s, operator(seven[0].tenant.id))) == []


def test_a_limit_of_its_own_is_found_behind_many_that_are_deeper(mail: Mailbox) -> None:
    """And who may hold more than the others is not called full where those would be."""
    many = [mail.tenant.agent() for _ in range(COUNTED + 1)]
    for agent in many:
        agent.publish_many([agent.publication()] * 4)
    roomy, small = many[0], mail
    roomy.set_limits(max_pending=100)
    small.publish(delay_seconds=600)
    small.set_limits(max_pending=1)
    sample(mail)
    who = operator(mail.tenant.id)
    assert [one.agent.id for one in mail.run(lambda s: list_filling(s, who))] == [small.id]
    assert paged(mail, 5, which=Which.FULL, by=By.PENDING) == [small.id]
    set_rules(mail.database, max_pending=5)
    found = mail.run(lambda s: list_filling(s, who))
    assert found[0].agent.id == small.id
    assert [(one.unsettled, one.most) for one in found[1:]] == [(4, 5)] * (COUNTED - 1)
    assert roomy.id not in [one.agent.id for one in found]
    assert sorted(paged(mail, 5, which=Which.FULL)) == sorted([small.id, *(a.id for a in many[1:])])


def test_what_came_since_the_sample_is_looked_at_where_few_were_found(mail: Mailbox) -> None:
    others = [mail.tenant.agent() for _ in range(INBOXES)]
    mail.publish()
    sample(mail)
    for other in others:
        other.publish()
    found = mail.run(lambda s: attention(s, operator(mail.tenant.id)))
    assert len(found.inboxes) == INBOXES
    assert mail.id in [line.agent.id for line in found.inboxes]
    assert not found.all_seen


def test_totals_are_of_all_inboxes_though_few_are_looked_at(mail: Mailbox) -> None:
    for other in [mail, *(mail.tenant.agent() for _ in range(INBOXES + 1))]:
        other.publish()
    who = operator(mail.tenant.id)
    assert mail.run(lambda s: attention(s, who)).total(Status.PENDING) == (INBOXES, True)
    sample(mail)
    found = mail.run(lambda s: attention(s, who))
    assert (found.total(Status.PENDING), found.all_seen) == ((INBOXES + 2, False), False)
    assert found.total(Status.SCHEDULED) == (0, True)
    assert found.oldest_pending_at is not None

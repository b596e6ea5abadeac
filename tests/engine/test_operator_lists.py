"""What the console lists of events, assignments and causes, on every database: order, pages, one tenant's."""

from __future__ import annotations

from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.coordination import assignment_list, room_list
from restante.coordination.assignments import State, Work, assign
from restante.coordination.posts import add_post
from restante.coordination.rooms import create_room
from restante.identity.administrators import Administrator
from restante.identity.operators import find_operator, invite
from restante.identity.roles import Role
from restante.identity.tenant_list import list_tenants
from restante.inbox.event_list import Wanted, list_tenant_events
from restante.inbox.lifecycle import Status
from restante.inbox.triage import causes, listing, trend
from restante.inbox.triage.selection import Filter
from restante.inbox.triage.trend import trends
from restante.sampling.upkeep import database_report, upkeep
from tests.engine.triage import poison
from tests.factories import Mailbox, make_tenant, pass_time

BY = Origin(Actor(ActorKind.OPERATOR, "opr_1"))


def operator(tenant_id: bytes) -> Administrator:
    return Administrator(tenant_id, BY, role=Role.OPERATOR)


def test_events_of_all_inboxes_are_paged_backwards(mail: Mailbox) -> None:
    other = mail.tenant.agent()
    ids = [to.publish(type=f"t{n % 3}").event_id for n in range(4) for to in (mail, other)]
    make_tenant(mail.database).agent().publish()
    who = operator(mail.tenant.id)
    seen: list[int | None] = []
    token = None
    for _ in range(10):

        def page(session, token=token):
            return list_tenant_events(session, who, Wanted(), limit=3, token=token)

        found = mail.run(page)
        seen += [one.sequence_number for one in found.events]
        token = found.next_page_token
        if token is None:
            break
    assert seen == [4, 4, 3, 3, 2, 2, 1, 1]
    assert len(ids) == 8
    narrow = Wanted(recipient_id=mail.id, type="t0", status=Status.PENDING)
    found = mail.run(lambda s: list_tenant_events(s, who, narrow, limit=10))
    assert [one.sequence_number for one in found.events] == [4, 1]
    absent = Wanted(recipient_id=bytes(16))
    assert mail.run(lambda s: list_tenant_events(s, who, absent, limit=10)).events == []


def test_assignments_go_by_state_then_the_newest(mail: Mailbox) -> None:
    service = mail.tenant.service
    for capability in ("none", None, "none", None):
        work = Work(project="p", payload=b"{}", capability=capability, candidates=None)
        mail.run(lambda s, work=work: assign(s, service, work))
    who, states, token = operator(mail.tenant.id), [], None
    for _ in range(4):

        def page(session, token=token):
            return assignment_list.list_assignments(session, who, limit=3, token=token)

        found, token = mail.run(page)
        states += [one.state for one in found]
        if token is None:
            break
    assert states == [State.UNROUTABLE] * 2 + [State.ASSIGNED] * 2
    assert mail.run(lambda s: assignment_list.count_unroutable(s, who)) == 2
    stranger = operator(make_tenant(mail.database).id)
    assert mail.run(lambda s: assignment_list.list_assignments(s, stranger, limit=3)) == ([], None)


def test_rooms_and_their_posts_the_latest_first(mail: Mailbox) -> None:
    agent = mail.agent
    room_id = mail.run(lambda s: create_room(s, agent, project="p", name="r", members=[mail.id]))
    for number in range(3):
        content = f'"{number}"'.encode()
        mail.run(lambda s, c=content: add_post(s, agent, room_id, c, most_bytes=1000))
    who = operator(mail.tenant.id)
    (line,), token = mail.run(lambda s: room_list.list_rooms(s, who, limit=5))
    assert (line.members, line.room.last_number, token) == (1, 3, None)
    assert line.posted_at is not None
    heads = mail.run(lambda s: room_list.list_heads(s, who, line.room, before=3, limit=5))
    assert [(one.number, one.size) for one in heads] == [(2, 3), (1, 3)]
    told = mail.run(lambda s: room_list.read_contents(s, who, line.room, before=None, limit=1))
    assert told == {3: b'"2"'}


def test_causes_are_those_of_the_latest_events(mail: Mailbox, monkeypatch) -> None:
    poison(mail, 2, message="older")
    poison(mail, 3, message="newer")
    who = operator(mail.tenant.id)
    groups = mail.run(lambda s: causes.list_groups(s, who, Filter()))
    assert [(one.message, one.count) for one in groups] == [("newer", 3), ("older", 2)]
    signature = groups[0].failure_signature
    assert mail.run(lambda s: listing.count_of_cause(s, who, signature)) == 3
    told = mail.run(lambda s: trends(s, who, Filter(), [signature]))
    before = list(told[signature].hours)
    assert (len(before), sum(before), told[signature].cut) == (24, 3, False)
    pass_time(mail.database, 3 * 3600)
    after = list(mail.run(lambda s: trends(s, who, Filter(), [signature]))[signature].hours)
    # an hour more, where one has just begun
    assert after in (before[3:] + [0] * 3, before[4:] + [0] * 4)
    monkeypatch.setattr(trend, "LOOKED_AT", 2)
    told = mail.run(lambda s: trends(s, who, Filter(), [signature]))
    assert (sum(told[signature].hours), told[signature].cut) == (2, True)
    assert len(told[signature].hours) < 24  # as far as it was looked
    mine = Filter(recipient_id=mail.id)
    monkeypatch.setattr(causes, "LOOKED_AT", 4)
    groups = mail.run(lambda s: causes.list_groups(s, who, mine))
    assert [(one.message, one.count) for one in groups] == [("newer", 3), ("older", 1)]
    groups = mail.run(lambda s: causes.list_groups(s, who, Filter()))
    assert [(one.message, one.count) for one in groups] == [("newer", 3), ("older", 2)]
    monkeypatch.setattr(causes, "GROUPS", 1)
    groups = mail.run(lambda s: causes.list_groups(s, who, Filter()))
    assert [(one.message, one.count) for one in groups] == [("newer", 3)]


def test_the_platform_is_told_of_tenants_and_upkeep(mail: Mailbox) -> None:
    invited = mail.run(lambda s: invite(s, None, email="p@example.com", role=Role.PLATFORM_ADMIN))
    who = mail.run(lambda s: find_operator(s, invited.email))
    tenants, token = mail.run(lambda s: list_tenants(s, who, limit=100))
    (mine,) = [one for one in tenants if one.agents]
    assert (mine.projects, mine.services, token) == (2, 1, None)
    told = mail.run(lambda s: upkeep(s, who))
    assert [since for _, since in told.due] == [None] * 4
    server, revision = mail.run(lambda s: database_report(s, who))
    assert server.product in ("SQLite", "MariaDB", "MySQL")
    assert revision is None or revision.isdigit()

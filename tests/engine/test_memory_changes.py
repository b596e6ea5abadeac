"""What changed since a revision: order, tombstones, pages, and what is no longer known (contract 5.8)."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from restante.coordination import changes
from restante.coordination.restored import restore_memory
from restante.coordination.tombstones import forget_tombstones, raise_memory_floor
from restante.errors import CursorGone, InsufficientScope
from restante.identity.scopes import Verb
from restante.inbox.restored import LEAP
from restante.storage.tables.memory import agent_memory
from tests.engine.remembering import delete, forget, get, keeper, put, since, told
from tests.factories import Mailbox, Tenant, pass_time, set_rules
from workers.retention import Retention


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    return keeper(tenant)


def restore(mail: Mailbox) -> None:
    last: bytes | None = b""
    while last is not None:
        last = mail.run(lambda s, after=last: restore_memory(s, after))


def test_nothing_yet(mail: Mailbox) -> None:
    assert since(mail) == since(mail, 0) == changes.Changes([], 0, has_more=False)


def test_each_key_once_in_revision_order_deletions_as_tombstones(mail: Mailbox) -> None:
    put(mail, "a", 1)
    put(mail, "b", 2)
    put(mail, "c", 3, project="q")
    put(mail, "a", 4)
    delete(mail, "b")
    found = since(mail)
    assert told(found.entries) == [("c", b"3", 3), ("a", b"4", 4), ("b", None, 5)]
    assert [entry.project for entry in found.entries] == ["q", "p", "p"]
    assert (found.revision, found.has_more) == (5, False)
    assert told(since(mail, 3).entries) == told(found.entries)[1:]
    assert since(mail, 5).entries == []
    # a key that comes back is no tombstone any more
    put(mail, "b", 6)
    assert told(since(mail, 5).entries) == [("b", b"6", 6)]


def test_pages_say_how_far_they_looked(mail: Mailbox) -> None:
    for number in range(7):
        put(mail, f"k{number}", number, project="pq"[number % 2])
    seen, after = [], None
    for revision, more in ((2, True), (4, True), (6, True), (7, False)):
        found = since(mail, after, limit=2)
        assert (found.revision, found.has_more) == (revision, more)
        seen += [entry.version for entry in found.entries]
        after = found.revision
    assert seen == list(range(1, 8))
    # what is of another project moves on as well
    only_q = since(mail.only("q"), limit=2)
    assert [entry.version for entry in only_q.entries] == [2, 4]
    assert (only_q.revision, only_q.has_more) == (5, True)
    assert since(mail.only("q"), 6) == changes.Changes([], 7, has_more=False)


def test_a_page_ends_at_what_it_may_look_at(mail: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "PAGE_EXAMINED", 3)
    for number in range(5):
        put(mail, f"k{number}", project="p" if number < 4 else "q")
    first = since(mail.only("q"))
    assert first == changes.Changes([], 3, has_more=True)
    assert [e.key for e in since(mail.only("q"), 3).entries] == ["k4"]


def test_a_page_ends_at_four_mebibytes(mail: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "PAGE_BYTES", 25)
    for key in ("a", "b", "c"):
        put(mail, key, "x" * 10)
    assert [e.key for e in since(mail).entries] == ["a", "b"]
    monkeypatch.setattr(changes, "PAGE_BYTES", 1)
    assert [e.key for e in since(mail).entries] == ["a"]


def test_projects_outside_the_token(mail: Mailbox, tenant: Tenant) -> None:
    put(mail, "k")
    put(mail, "l", project="q")
    assert [e.key for e in since(mail.only("q")).entries] == ["l"]
    assert [e.key for e in since(mail, None, "p").entries] == ["k"]
    blind = tenant.agent(verbs=[Verb.MEMORY])
    with pytest.raises(InsufficientScope):
        since(blind)


def test_a_revision_that_was_never_given_is_gone(mail: Mailbox) -> None:
    put(mail, "k")
    with pytest.raises(CursorGone) as gone:
        since(mail, 2)
    assert gone.value.members == {
        "reason": "epoch",
        "oldest_revision": 0,
        "memory_revision": 1,
        "state_url": f"/api/v1/agents/{mail.agent.public_id}/state",
    }


def test_tombstones_are_kept_for_retention_then_their_readers_are_told(mail: Mailbox) -> None:
    set_rules(mail.database, retention_seconds=60)
    put(mail, "a")
    put(mail, "b")
    delete(mail, "a")
    pass_time(mail.database, 30)
    delete(mail, "b")
    put(mail, "c")
    pass_time(mail.database, 31)
    assert forget(mail) == 1
    for cursor in (0, 1, 2):
        with pytest.raises(CursorGone) as gone:
            since(mail, cursor)
        assert gone.value.members["reason"] == "retention"
        assert gone.value.members["oldest_revision"] == 3
    assert told(since(mail, 3).entries) == [("b", None, 4), ("c", b"1", 5)]
    # who names no revision has lost none
    assert told(since(mail).entries) == [("b", None, 4), ("c", b"1", 5)]
    assert forget(mail) == 0


def test_the_floor_is_there_before_the_tombstones_go(mail: Mailbox) -> None:
    set_rules(mail.database, retention_seconds=60)
    put(mail, "a")
    delete(mail, "a")
    pass_time(mail.database, 61)
    assert mail.run(lambda s: forget_tombstones(s, mail.id)) == 0
    assert mail.run(lambda s: raise_memory_floor(s, mail.id)) == 2
    with pytest.raises(CursorGone):
        since(mail, 1)
    assert told(since(mail).entries) == [("a", None, 2)]
    assert mail.run(lambda s: forget_tombstones(s, mail.id)) == 1
    assert mail.run(lambda s: raise_memory_floor(s, mail.id)) is None


def test_a_key_that_came_back_is_not_forgotten(mail: Mailbox) -> None:
    set_rules(mail.database, retention_seconds=60)
    put(mail, "a")
    delete(mail, "a")
    pass_time(mail.database, 61)
    mail.run(lambda s: raise_memory_floor(s, mail.id))
    put(mail, "a", 2)
    assert mail.run(lambda s: forget_tombstones(s, mail.id)) == 0
    assert get(mail, "a").value == b"2"


def test_the_maintenance_forgets_for_every_agent(mail: Mailbox, tenant: Tenant) -> None:
    set_rules(mail.database, retention_seconds=60)
    agents = [mail, keeper(tenant)]
    for agent in agents:
        put(agent, "a")
        delete(agent, "a")
    retention = Retention(mail.database)
    assert retention.run_once()["tombstones"] == 0
    pass_time(mail.database, 61)
    assert retention.run_once()["tombstones"] == 2
    for agent in agents:
        with pytest.raises(CursorGone):
            since(agent, 1)


def test_after_a_restored_backup_no_version_comes_again(mail: Mailbox, tenant: Tenant) -> None:
    put(mail, "a")
    put(mail, "b", 2)
    never = keeper(tenant)  # in the backup nothing was ever written for it
    restore(mail)
    at = since(mail).revision
    assert LEAP < at < 2**53
    for agent, cursors in ((mail, (0, 1, 2, 3)), (never, (0, 1, 5))):
        for cursor in cursors:
            with pytest.raises(CursorGone):
                since(agent, cursor)
    assert told(since(mail).entries) == [("a", b"1", at - 1), ("b", b"2", at)]
    assert put(mail, "c").version == at + 1
    assert put(never, "c").version > LEAP
    restore(mail)
    assert put(mail, "d").version > at + 2


@pytest.mark.parametrize("restored", [False, True])
def test_one_backup_restored_twice_goes_on_from_two_places(
    mail: Mailbox, *, restored: bool
) -> None:
    put(mail, "a")
    if restored:  # the backup was made after another restore
        restore(mail)
        pass_time(mail.database, 1)
    rows = mail.run(lambda s: s.connection().execute(select(agent_memory)).mappings().all())
    restore(mail)
    first = put(mail, "b").version
    # the backup again, a second later
    mail.run(lambda s: s.connection().execute(update(agent_memory).values(dict(rows[0]))))
    pass_time(mail.database, 1)
    restore(mail)
    with pytest.raises(CursorGone):
        since(mail, first)
    assert put(mail, "b").version > first + 100

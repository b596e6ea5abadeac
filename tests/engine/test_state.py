"""State: where an agent begins, and goes on from after a 410 (contract 5.9)."""

from __future__ import annotations

import pytest

from restante.coordination import changes
from restante.errors import CursorGone, InsufficientScope, PageTokenInvalid
from restante.identity.scopes import Verb
from tests.engine.remembering import delete, keeper, put, scribe, since, state, told
from tests.factories import Mailbox, Tenant, pass_time, set_rules


@pytest.fixture
def mail(tenant: Tenant) -> Mailbox:
    return keeper(tenant)


def test_an_agent_that_begins(mail: Mailbox) -> None:
    first = state(mail)
    assert (first.cursor, first.memory_revision, first.claimable) == (0, 0, 0)
    assert (first.assignments, first.memory, first.next_page_token) == ([], [], None)
    assert first.epoch == mail.inbox_row().epoch.hex()


def test_where_it_stands_and_what_it_remembers(mail: Mailbox, tenant: Tenant) -> None:
    for _ in range(3):
        mail.publish()
    mail.ack(mail.take_one())
    put(mail, "a", 1)
    put(mail, "b", 2, by=scribe(tenant))
    put(mail, "gone")
    delete(mail, "gone")
    put(mail, "c", 3, project="q")
    first = state(mail)
    assert (first.cursor, first.memory_revision, first.claimable) == (4, 5, 3)
    assert told(first.memory) == [("a", b"1", 1), ("b", b"2", 2), ("c", b"3", 5)]
    # unsettled events at or below the cursor are got by claim
    assert len(mail.take(limit=10)) == 3
    assert mail.page(after_cursor=first.cursor).events == []


def test_only_the_projects_covered_for_read(mail: Mailbox, tenant: Tenant) -> None:
    mail.publish()
    put(mail, "a")
    put(mail, "b", project="q")
    narrow = state(mail.only("q"))
    assert [entry.key for entry in narrow.memory] == ["b"]
    assert (narrow.cursor, narrow.claimable, narrow.memory_revision) == (1, 0, 2)
    with pytest.raises(InsufficientScope):
        state(tenant.agent(verbs=[Verb.CLAIM, Verb.MEMORY]))


def test_a_paused_agent_has_nothing_to_claim(mail: Mailbox) -> None:
    mail.publish()
    mail.set_limits(paused=True)
    assert state(mail).claimable == 0


def test_later_pages_repeat_what_page_1_fixed_and_may_be_newer(mail: Mailbox) -> None:
    for number in range(5):
        put(mail, f"k{number}", number)
    first = state(mail, limit=2)
    assert first.next_page_token is not None
    mail.publish()
    put(mail, "k0", "again")
    put(mail, "k4", "again")
    delete(mail, "k3")
    view, page = {e.key: e for e in first.memory}, first
    while page.next_page_token is not None:
        page = state(mail, page.next_page_token, limit=2)
        assert (page.cursor, page.memory_revision) == (first.cursor, first.memory_revision)
        assert (page.epoch, page.claimable, page.assignments) == (first.epoch, 0, None)
        view |= {
            e.key: e for e in page.memory if e.version > getattr(view.get(e.key), "version", 0)
        }
    for entry in since(mail, first.memory_revision).entries:
        view[entry.key] = entry
    live = {key: entry.value for key, entry in view.items() if entry.value is not None}
    assert live == {"k0": b'"again"', "k1": b"1", "k2": b"2", "k4": b'"again"'}


def test_a_page_token_is_sealed_to_its_agent(mail: Mailbox, tenant: Tenant) -> None:
    for number in range(3):
        put(mail, f"k{number}")
    token = state(mail, limit=1).next_page_token
    assert token is not None
    for other, used in ((keeper(tenant), token), (mail, token[:-2] + "AA"), (mail, "nonsense")):
        with pytest.raises(PageTokenInvalid):
            state(other, used)


def test_after_a_410_it_goes_on_from_the_state(mail: Mailbox) -> None:
    set_rules(mail.database, retention_seconds=60)
    mail.publish()
    mail.ack(mail.take_one())
    put(mail, "a")
    put(mail, "b")
    delete(mail, "a")
    pass_time(mail.database, 61)
    mail.retain()
    with pytest.raises(CursorGone):
        mail.page(after_cursor=0)
    first = state(mail)
    assert [entry.key for entry in first.memory] == ["b"]
    assert mail.page(after_cursor=first.cursor, epoch=first.epoch).events == []
    assert since(mail, first.memory_revision).entries == []


def test_tombstones_do_not_fill_pages(mail: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "PAGE_EXAMINED", 3)
    for number in range(5):
        put(mail, f"k{number}")
        delete(mail, f"k{number}")
    put(mail, "live")
    first = state(mail)
    assert first.memory == []
    assert first.next_page_token is not None
    assert [e.key for e in state(mail, first.next_page_token).memory] == ["live"]

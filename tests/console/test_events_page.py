"""All events of a tenant in the console, by inbox, type, state and time; and what was unread for too long."""

from __future__ import annotations

from restante.identity.roles import Role
from restante.inbox import event_list
from restante.inbox.escalation import escalate
from restante.inbox.escalation_policy import policies
from restante.storage.ids import Prefix, decode_id
from tests.console.browsing import Browser, signed_in
from tests.http.test_triage import poison
from tests.http.world import Caller, World, verbs


def shown(browser: Browser, path: str = "/events") -> list[str]:
    """The events of a page, as they stand there."""
    assert browser.get(path).status_code == 200
    return [one.all("a")[0].attributes["href"][8:] for one in browser.page.all("th", scope="row")]


def test_the_newest_of_all_inboxes_come_first_and_are_narrowed(
    world: World, alice: Caller, bob: Caller
) -> None:
    browser = signed_in(world)
    assert shown(browser) == []
    assert "No events yet" in browser.page.text
    (bad,) = poison(alice, bob, "x")
    (second,) = (e["event_id"] for e in bob.publish(bob, type="order.made"))
    world.pass_time(7200)
    third = bob.publish(alice, type="order.made", project="main")[0]["event_id"]
    bob.publish(alice, delay_seconds=600)
    browser = signed_in(world, email="b@example.com")
    assert shown(browser) == [third, second, bad]
    for query, expected in (
        ("inbox=alice", [third, bad]),
        ("type=order.made", [third, second]),
        ("state=quarantined", [bad]),
        ("hours=1", [third]),
        ("project=main&inbox=bob", [second]),
        ("project=other", []),
        ("project=none", []),
        ("inbox=nobody", []),
        ("type=order", []),
        ("since=2020-01-01", [third, second, bad]),
    ):
        assert shown(browser, f"/events?{query}") == expected, query
    for query in ("state=nonsense", "hours=5", "since=2026-13-45"):
        assert shown(browser, f"/events?{query}") == [], query
        name = query.partition("=")[0].capitalize()
        assert browser.page.one("div", role="alert").text.startswith(f"{name}: ")


def test_a_long_value_is_cut_and_stands_whole_in_its_title(
    world: World, alice: Caller, bob: Caller
) -> None:
    """The same in every list of events; what was not tried yet says so alike."""
    type_ = "t" * 128
    bob.publish(alice, type=type_)
    browser = signed_in(world)
    for path in ("/events", f"/inboxes/{alice.id}"):
        browser.get(path)
        cell = browser.page.one("th", scope="row")
        assert (cell.attributes["class"], cell.attributes["title"]) == ("cut", type_), path


def test_it_goes_on_where_it_ended_whatever_arrives(
    world: World, alice: Caller, bob: Caller
) -> None:
    ids = [bob.publish(who)[0]["event_id"] for _ in range(15) for who in (alice, bob)]
    browser = signed_in(world)
    seen = shown(browser, "/events?hours=24")
    bob.publish(alice)
    world.pass_time(30)
    seen += shown(browser, browser.page.one("a", rel="next").attributes["href"])
    assert seen == ids[::-1]
    assert browser.page.all("a", rel="next") == []
    assert browser.get("/events?page=forged").status_code == 404


def test_a_page_says_where_it_has_looked_at_enough(
    world: World, alice: Caller, bob: Caller, monkeypatch
) -> None:
    monkeypatch.setattr(event_list, "EXAMINED", 5)
    for _ in range(12):
        bob.publish(alice)
    browser = signed_in(world)
    assert len(shown(browser)) == 5
    assert shown(browser, "/events?state=expired") == []
    assert "None among" in browser.page.text
    (more,) = [a for a in browser.page.all("a") if a.text == "Look at older ones"]
    assert shown(browser, more.attributes["href"]) == []


def test_wu_039_events_of_others_are_not_in_the_list(
    world: World, alice: Caller, bob: Caller
) -> None:
    bob.publish(alice)
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    mine = signed_in(world)
    for _ in range(26):
        bob.publish(alice)
    shown(mine)
    token = mine.page.one("a", rel="next").attributes["href"]
    assert shown(rival) == shown(rival, "/events?inbox=alice") == []
    assert rival.get(token).status_code == 404
    assert shown(rival, "/events/unread") == []


def test_what_nobody_reads_is_told_to_the_operators(
    world: World, alice: Caller, bob: Caller
) -> None:
    boss = world.service("acme", "boss", ["tenant:agents:write"])
    wanted = {"unread_after_seconds": 60}
    assert boss.call("PATCH", "admin/projects/main", json=wanted).status_code == 200
    browser = signed_in(world)
    assert shown(browser, "/events/unread") == []
    assert "Nothing was unread for too long" in browser.page.text
    (event,) = bob.publish(alice, type="<b>urgent</b>")
    world.pass_time(120)
    alice_id = decode_id(Prefix.AGENT, alice.id)
    assert alice_id is not None
    world.house.database.run(lambda s: [escalate(s, policy, alice_id) for policy in policies(s)])
    assert shown(browser, "/events/unread") == [event["event_id"]]
    assert "<b>urgent</b> pending alice main" in browser.page.text.replace("  ", " ")
    browser.get("/overview")
    assert "1 event unread for too long" in browser.page.text
    assert [a for a in browser.page.all("a") if a.attributes["href"] == "/events/unread"]
    alice.claim()
    browser.get("/overview")
    assert "unread for too long" not in browser.page.text


def test_a_tenant_of_many_inboxes_is_told_that_there_are_others(world: World, monkeypatch) -> None:
    monkeypatch.setattr(event_list, "INBOXES", 2)
    agents = [world.agent("acme", f"a{n}", verbs("main")) for n in range(3)]
    ids = []
    for one in agents:
        ids += one.publish(one)
        world.pass_time(1)
    browser = signed_in(world)
    assert shown(browser) == [event["event_id"] for event in ids[:0:-1]]
    assert "Name an inbox" in browser.page.text
    assert shown(browser, "/events?inbox=a0") == [ids[0]["event_id"]]

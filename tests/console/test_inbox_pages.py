"""Inboxes in the console: the table, one agent's page, and what an admin changes there."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from restante.inbox.restored import restore_inboxes
from restante.signals.presence import write_presence
from restante.storage.ids import Prefix, decode_id
from tests.console.browsing import actions, signed_in
from tests.http.test_triage import poison
from tests.http.world import Caller, World, unknown_id, verbs
from workers.sampler import Sampler

ACTS = ("pause", "resume", "disable", "enable")


def cells(browser, name: str) -> list[str]:
    """The row of the table that begins with that name."""
    rows = [[c.text for c in row.all("td")] for row in named(browser, name)]
    assert len(rows) == 1
    return rows[0]


def named(browser, name: str) -> list:
    rows = browser.page.all("tr")
    return [row for row in rows if row.all("th", scope="row") and row.all("th")[0].text == name]


def test_a_tenant_without_agents_is_told_how_to_make_one(world: World) -> None:
    browser = signed_in(world)
    browser.get("/inboxes")
    assert "No agents yet" in browser.page.text
    assert "restante agent create --tenant acme" in browser.page.text


def test_inboxes_tell_what_waits(world: World, alice: Caller, bob: Caller) -> None:
    poison(alice, bob, "x")
    for _ in range(3):
        bob.publish(alice)
    alice.claim(limit=1)
    browser = signed_in(world)
    browser.get("/inboxes")
    waiting = cells(browser, "alice")
    assert waiting[0].split() == ["never", "came"], "the overview calls it away too"
    assert cells(browser, "bob")[0] == "never seen", "nothing waits for it"
    assert [waiting[n].split()[0] for n in (1, 4, 5)] == ["2", "1", "1"]
    assert cells(browser, "bob")[1].endswith("pending")
    browser.get("/inboxes?name=al")
    assert (len(named(browser, "alice")), len(named(browser, "bob"))) == (1, 0)
    browser.get("/inboxes?name=zed")
    assert "No agent whose name begins with zed" in browser.page.text
    for none in ("?state=disabled", "?name=%25", "?name=_lice"):
        browser.get(f"/inboxes{none}")
        assert named(browser, "alice") == [], none
    assert browser.get("/inboxes?page=forged").status_code == 404
    browser.get("/inboxes?state=nonsense")
    assert "State: there is none like that" in browser.page.one("div", role="alert").text
    assert browser.page.all("th", scope="row") == []
    for path in (f"/inboxes/{alice.id}", "/callbacks", "/assignments"):
        assert browser.get(f"{path}?state=nonsense").status_code == 422, path
        assert "State: there is none like that" in browser.page.text


def test_inboxes_are_paged_by_name(world: World) -> None:
    for number in range(30):
        world.agent("acme", f"agent-{number:02}", verbs("main"))
    browser = signed_in(world)
    browser.get("/inboxes?name=agent-")
    first = [one.text for one in browser.page.all("th", scope="row")]
    browser.get(browser.page.one("a", rel="next").attributes["href"])
    rest = [one.text for one in browser.page.all("th", scope="row")]
    assert first + rest == [f"agent-{number:02}" for number in range(30)]


def heads(browser) -> dict[str, tuple[str | None, str]]:
    """By the words of a head that orders: which way it does now, and where it leads."""
    found = browser.page.one("thead").all("th", scope="col")
    return {
        one.all("a")[0].text.strip(" \u2193\u2191"): (
            one.attributes.get("aria-sort"),
            one.all("a")[0].attributes["href"],
        )
        for one in found
        if one.all("a")
    }


def names(browser) -> list[str]:
    return [one.text for one in browser.page.all("th", scope="row")]


def test_each_head_orders_and_turns_round_and_the_address_says_so(
    world: World, alice: Caller, bob: Caller
) -> None:
    world.agent("acme", "carol", verbs("main"))
    poison(bob, alice, "x")
    alice.publish(bob)
    Sampler(world.house.database).run_once()
    browser = signed_in(world)
    browser.get("/inboxes?state=active")
    assert set(heads(browser)) == {
        *("Agent", "Pending", "Oldest", "In flight", "Quarantined", "Last seen")
    }
    assert heads(browser)["Pending"] == ("descending", "/inboxes?state=active&order=back")
    assert names(browser) == ["bob", "alice", "carol"], "the fullest first"
    browser.get(heads(browser)["Agent"][1])
    assert heads(browser)["Agent"] == ("ascending", "/inboxes?state=active&sort=name&order=back")
    for title, falls in (
        ("Pending", "descending"),
        ("Oldest", "descending"),
        ("Quarantined", "descending"),
        ("Last seen", "ascending"),  # carol never was
    ):
        browser.get(heads(browser)[title][1])
        assert {t: how for t, (how, _) in heads(browser).items() if how} == {title: falls}
        assert names(browser)[0] == "bob" or title == "Last seen"
        assert names(browser)[-1] == "carol"
        assert browser.page.one("option", selected="", value="active")
        browser.get(heads(browser)[title][1])
        assert heads(browser)[title][0] != falls, title
        browser.get(heads(browser)[title][1])
        assert heads(browser)[title][0] == falls, title
    assert browser.get("/inboxes?sort=nonsense&order=nonsense").status_code == 200
    assert names(browser) == ["bob", "alice", "carol"]


def test_pages_hold_under_an_order(world: World, bob: Caller) -> None:
    agents = [world.agent("acme", f"agent-{n:02}", verbs("main")) for n in range(30)]
    for number, agent in enumerate(agents):
        for _ in range(number % 3):
            bob.publish(agent)
    Sampler(world.house.database).run_once()
    browser = signed_in(world)
    browser.get("/inboxes?name=agent-&sort=pending")
    assert "a sample that is taken every 15 s" in browser.page.text
    first = names(browser)
    browser.get(browser.page.one("a", rel="next").attributes["href"])
    lying = [n for turn in (2, 1) for n in reversed(range(30)) if n % 3 == turn]
    empty = [n for n in range(30) if n % 3 == 0]
    assert first + names(browser) == [f"agent-{n:02}" for n in lying + empty]
    browser.get(next(a.attributes["href"] for a in browser.page.all("a") if a.text == "First"))
    assert names(browser) == first
    for _ in range(2):
        world.pass_time(1_700)
        browser.get("/inboxes?sort=pending")
    assert "in the order of the last sample, " in browser.page.text


def test_a_day_of_each_inbox_is_a_small_line_that_says_what_it_shows(
    world: World, alice: Caller, bob: Caller
) -> None:
    browser = signed_in(world)
    browser.get("/inboxes?sort=oldest")
    assert browser.page.all("svg", **{"class": "spark"}) == []
    assert "has not been taken yet" in browser.page.text
    for _ in range(2):
        alice.publish(bob)
    Sampler(world.house.database).run_once()
    browser.get("/inboxes")
    told = {
        row.all("th")[0].text: row.one("svg", **{"class": "spark"}).attributes["aria-label"]
        for row in browser.page.one("tbody").all("tr")
    }
    assert told == {
        "alice": "At most 0 pending in 24 h, 0 at last",
        "bob": "At most 2 pending in 24 h, 2 at last",
    }


def test_one_agents_page_shows_its_events_by_state(
    world: World, alice: Caller, bob: Caller
) -> None:
    (bad,) = poison(alice, bob, "x")
    (held,) = bob.publish(alice, priority=5)
    alice.claim(limit=1, consumer="laptop-a")
    (waits,) = bob.publish(alice, type="waits")
    (done,) = bob.publish(alice, priority=9)
    (event,) = alice.claim(limit=1)
    alice.post(f"A/inbox/{event['event_id']}/ack", {"claim_generation": event["claim_generation"]})
    (later,) = bob.publish(alice, delay_seconds=600)
    browser = signed_in(world)
    for state, expected in (
        ("", {bad, held["event_id"], waits["event_id"]}),
        ("pending", {waits["event_id"]}),
        ("claimed", {held["event_id"]}),
        ("quarantined", {bad}),
        ("completed", {done["event_id"]}),
        ("scheduled", {later["event_id"]}),
        ("cancelled", set()),
    ):
        browser.get(f"/inboxes/{alice.id}?state={state}")
        links = {one.all("a")[0].attributes["href"] for one in browser.page.all("th", scope="row")}
        assert links == {f"/events/{event}" for event in expected}, state
    assert "laptop-a" in browser.page.text
    assert "main read, claim, publish, memory" in browser.page.text


def test_what_a_restore_leaps_over_was_not_left_unread(
    world: World, alice: Caller, bob: Caller
) -> None:
    for _ in range(3):
        bob.publish(alice)
    read_to = {decode_id(Prefix.AGENT, alice.id) or b"": 1}
    world.house.database.run(lambda s: write_presence(s, read_to))
    browser = signed_in(world)
    browser.get(f"/inboxes/{alice.id}")
    assert "Read to 1, 2 behind the head." in browser.page.one("section", id="read").text
    world.house.database.run(lambda s: restore_inboxes(s, b""))
    browser.get(f"/inboxes/{alice.id}")
    read = browser.page.one("section", id="read").text
    assert "behind the head" not in read
    assert "Read to 1, before the oldest that is kept: it will be told to fetch its state." in read
    bob.publish(alice)
    browser.get(f"/inboxes/{alice.id}")
    assert "Read to 1, 1 behind the head, before" in browser.page.one("section", id="read").text


@pytest.mark.parametrize("state", ["pending", "scheduled"])
def test_events_of_an_inbox_are_paged(world: World, alice: Caller, bob: Caller, state: str) -> None:
    later = {"delay_seconds": 600} if state == "scheduled" else {}
    ids = [bob.publish(alice, priority=n % 3, **later)[0]["event_id"] for n in range(30)]
    browser = signed_in(world)
    browser.get(f"/inboxes/{alice.id}?state={state}")
    seen = []
    while True:
        seen += [one.all("a")[0].attributes["href"] for one in browser.page.all("th", scope="row")]
        more = browser.page.all("a", rel="next")
        if not more:
            break
        browser.get(f"/inboxes/{alice.id}{more[0].attributes['href']}")
    assert len(seen) == 30
    assert set(seen) == {f"/events/{event}" for event in ids}


def test_an_admin_pauses_and_disables_and_undoes_it(
    world: World, alice: Caller, bob: Caller
) -> None:
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    path = f"/inboxes/{alice.id}"
    bob.publish(alice)
    for act, action, said in (
        ("pause", "agent.pause", "It is paused. It keeps receiving."),
        ("resume", "agent.resume", "Pause inbox"),
        ("disable", "agent.disable", "It is disabled."),
        ("enable", "agent.enable", "Disable this agent"),
    ):
        browser.get(path)
        answer = browser.send(f"{path}/{act}")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{path}#acts")
        assert actions(world)[-1] == (action, "done")
        browser.get(path)
        assert said in browser.page.text, act
    assert len(alice.claim()) == 1


def test_wu_038_an_operator_is_not_shown_what_he_may_not_do_and_is_refused(
    world: World, alice: Caller
) -> None:
    browser = signed_in(world)
    browser.get(f"/inboxes/{alice.id}")
    assert not [b for b in browser.page.buttons() if b.startswith(("Pause", "Disable"))]
    form = {"csrf": browser.token()}
    for act in ACTS:
        assert browser.post(f"/inboxes/{alice.id}/{act}", form).status_code == 403, act
    assert not [a for a, _ in actions(world) if a.startswith("agent.") and a != "agent.create"]


def test_wu_039_inboxes_of_others_are_as_those_that_never_were(world: World, alice: Caller) -> None:
    world.tenant("rival", "main")
    service = world.service("acme", "ci", ["tenant:events:publish"])
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    form = {"csrf": rival.token()}
    for named_id in (alice.id, unknown_id("agt"), service.id, "x"):
        assert rival.get(f"/inboxes/{named_id}").status_code == 404
        assert rival.heading == "There is nothing here"
        for act in ACTS:
            assert rival.post(f"/inboxes/{named_id}/{act}", form).status_code == 404
    rival.get("/inboxes")
    assert "alice" not in rival.page.text
    assert world.agent("rival", "alice", verbs("main")).id != alice.id

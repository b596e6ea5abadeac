"""Assignments in the console: those that nobody has first, one with its decisions, and calling it off."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from restante.signals.presence import write_presence
from restante.storage.ids import Prefix, decode_id
from tests.console.browsing import Browser, audited, signed_in
from tests.console.well_made import check_light, check_made
from tests.http.assigning import assign, read, settle
from tests.http.world import Caller, World, unknown_id


def listed(browser: Browser, path: str = "/assignments") -> list[str]:
    """The assignments of a page, as they stand there."""
    assert browser.get(path).status_code == 200
    return [one.all("a")[0].attributes["href"][13:] for one in browser.page.all("th", scope="row")]


def test_what_nobody_has_comes_first_and_is_counted(
    world: World, alice: Caller, bob: Caller
) -> None:
    browser = signed_in(world)
    assert listed(browser) == []
    assert "No assignments yet" in browser.page.text
    done = assign(bob, alice)["assignment_id"]
    settle(alice, "ack")
    nobody = assign(bob, capability="none")["assignment_id"]
    runs = [assign(bob, alice)["assignment_id"] for _ in range(2)]
    assert listed(browser) == [nobody, *runs[::-1], done]
    (number,) = browser.page.all("b", **{"class": "assignments"})
    assert number.text == "1 that nobody has"
    answer = browser.get("/search", query_string={"q": done})
    assert answer.headers["Location"] == f"/assignments/{done}"
    assert listed(browser, "/assignments?state=completed") == [done]
    assert listed(browser, "/assignments?agent=alice&state=assigned") == runs[::-1]
    assert listed(browser, "/assignments?agent=bob") == []
    browser.get("/overview")
    assert "1 assignment nobody has taken" in browser.page.text
    assert browser.get("/assignments?page=forged").status_code == 404


def test_a_list_goes_on_from_one_state_to_the_next(
    world: World, alice: Caller, bob: Caller
) -> None:
    made = [assign(bob, alice)["assignment_id"] for _ in range(20)]
    made += [assign(bob, capability="none")["assignment_id"] for _ in range(10)]
    browser = signed_in(world)
    seen = listed(browser)
    seen += listed(browser, browser.page.one("a", rel="next").attributes["href"])
    assert seen == made[::-1]


def test_one_tells_whom_it_considered_and_why_not(world: World, alice: Caller, bob: Caller) -> None:
    boss = world.service("acme", "boss", ["tenant:agents:write"])
    assert boss.post(f"admin/agents/{bob.id}/pause").status_code == 200
    made = assign(bob, bob, alice, max_candidates=1)
    browser = signed_in(world)
    browser.get(f"/assignments/{made['assignment_id']}")
    rows = [[c.text for c in row.all("th") + row.all("td")] for row in browser.page.all("tr")[1:]]
    assert [(row[0], row[3]) for row in rows] == [("bob", "is paused"), ("alice chosen", "nothing")]
    assert "alice has it in its inbox and is away. Nothing passes it on" in browser.page.text
    check_made(browser.page)
    check_light(browser.page)
    settle(alice, "reject", reason="not mine")
    browser.get(f"/assignments/{made['assignment_id']}")
    assert "Nobody has it: 1 candidate failed, as many as may try." in browser.page.text
    (event,) = [a for a in browser.page.all("a") if a.text == "Open its last event"]
    assert browser.get(event.attributes["href"]).status_code == 200
    assert "quarantined" in browser.page.one("h1").text


def test_what_an_away_agent_will_pass_on_is_no_warning(
    world: World, alice: Caller, bob: Caller
) -> None:
    goes_on = assign(bob, alice, unread_timeout_seconds=300)["assignment_id"]
    stays = assign(bob, alice)["assignment_id"]
    browser = signed_in(world)
    for path, warned in ((goes_on, False), (stays, True)):
        browser.get(f"/assignments/{path}")
        assert ("Nothing passes it on" in browser.page.text) is warned
    raw = decode_id(Prefix.AGENT, alice.id)
    assert raw is not None
    world.house.database.run(lambda s: write_presence(s, {raw: None}))
    browser.get(f"/assignments/{stays}")
    assert "alice has it in its inbox." in browser.page.text
    assert "Nothing passes it on" not in browser.page.text


def test_what_nobody_has_leads_to_reassigning_it(world: World, alice: Caller, bob: Caller) -> None:
    path = f"/assignments/{assign(bob, capability='none')['assignment_id']}/reassign"
    assign(bob, alice)
    browser = signed_in(world)
    browser.get("/assignments")
    (link,) = [a for a in browser.page.all("a") if a.text == "Reassign…"]
    assert link.attributes["href"] == path


def test_it_is_called_off_with_a_reason(world: World, alice: Caller, bob: Caller) -> None:
    made = assign(bob, alice)
    path = f"/assignments/{made['assignment_id']}"
    browser = signed_in(world)
    browser.get(path)
    browser.send(f"{path}/cancel", why=" ")
    assert (browser.answer.status_code, read(bob, made)["state"]) == (422, "assigned")
    browser.send(f"{path}/cancel", why="ordered twice")
    assert browser.answer.headers["Location"] == path
    assert (read(bob, made)["state"], alice.claim()) == ("cancelled", [])
    entry = audited(world)[-1]
    assert (entry.action, entry.target, entry.reason) == (
        "event.cancel",
        made["assignment_id"],
        "ordered twice",
    )
    browser.get(path)
    assert "Cancel…" not in browser.answer.text
    form = {"csrf": browser.token(), "why": "again"}
    assert browser.post(f"{path}/cancel", form).status_code == 409
    assert "It has ended meanwhile" in browser.page.text


def test_who_holds_it_is_asked_to_stop(world: World, alice: Caller, bob: Caller) -> None:
    made = assign(bob, alice)
    (event,) = alice.claim()
    path = f"/assignments/{made['assignment_id']}"
    browser = signed_in(world)
    browser.get(path)
    assert "its ack wins" in browser.page.text
    browser.send(f"{path}/cancel", why="enough")
    browser.get(path)
    assert "It was asked to stop: enough." in browser.page.text
    renewed = alice.post(
        f"A/inbox/{event['event_id']}/renew", {"claim_generation": event["claim_generation"]}
    )
    assert renewed.json["cancel_requested"] is True


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.TENANT_ADMIN])
def test_wu_039_assignments_of_others_are_as_those_that_never_were(
    world: World, alice: Caller, bob: Caller, role: Role
) -> None:
    made = assign(bob, alice)["assignment_id"]
    nobody = assign(bob, capability="none")["assignment_id"]
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=role)
    assert listed(rival) == listed(rival, "/assignments?agent=alice") == []
    assert rival.page.all("b", **{"class": "assignments"}) == []
    form = {"csrf": rival.token(), "why": "theirs"}
    for named in (made, nobody, unknown_id("asg"), "x"):
        assert rival.get("/search", query_string={"q": named}).status_code == 404
        assert rival.get(f"/assignments/{named}").status_code == 404
        assert rival.post(f"/assignments/{named}/cancel", form).status_code == 404
    assert len(alice.claim()) == 1

"""Reassign in the console: who loses it, who gets it, why; then it is done (issue 6, page 7)."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import Browser, audited, signed_in
from tests.console.well_made import check_light, check_made
from tests.http.assigning import assign, read, settle
from tests.http.test_routing import set_agent
from tests.http.world import Caller, World, unknown_id, verbs


@pytest.fixture
def carol(world: World) -> Caller:
    return world.agent("acme", "carol", verbs("main"))


def choices(browser: Browser) -> list[tuple[str, bool]]:
    """(value, whether it is ticked) of who may get it."""
    found = browser.page.all("input", type="radio")
    return [(one.attributes["value"], "checked" in one.attributes) for one in found]


def can_press(browser: Browser) -> bool:
    """Whether there is the button that does it; where nobody can get it, words stand there."""
    there = "Reassign it" in browser.page.buttons()
    assert there is ("Nobody can get it yet" not in browser.page.text)
    return there


def test_it_goes_from_one_to_the_next_with_a_reason(
    world: World, alice: Caller, bob: Caller, carol: Caller
) -> None:
    made = assign(bob, alice, carol)
    path = f"/assignments/{made['assignment_id']}"
    browser = signed_in(world)
    browser.get(path)
    (link,) = [a for a in browser.page.all("a") if a.text == "Reassign…"]
    browser.get(link.attributes["href"])
    assert "alice has it in its inbox." in browser.page.text
    assert choices(browser) == [("policy", True)]
    assert "As its policy says: carol" in browser.page.text
    assert "alice cannot be chosen: has it already." in browser.page.text
    check_made(browser.page)
    check_light(browser.page)
    browser.send(f"{path}/reassign", why=" ")
    assert (browser.answer.status_code, read(bob, made)["agent_id"]) == (422, alice.id)
    assert choices(browser) == [("policy", True)]
    form = {**browser.page.form(f"{path}/reassign"), "why": "alice sleeps"}
    for _ in range(2):  # pressed twice, done once
        browser.post(f"{path}/reassign", form)
        assert browser.answer.headers["Location"] == path
    assert read(bob, made)["agent_id"] == carol.id
    assert len(read(bob, made)["routing"]) == 2
    entry = audited(world)[-1]
    assert (entry.action, entry.actor_kind, entry.reason) == (
        "assignment.reassign",
        "operator",
        f"to {carol.id}: alice sleeps",
    )
    browser.get(path)
    assert "carol has it in its inbox" in browser.page.text


def test_another_agent_is_considered_by_its_name_and_gets_it_by_hand(
    world: World, alice: Caller, bob: Caller, carol: Caller
) -> None:
    made = assign(bob, alice)
    set_agent(world, carol, paused=True)
    path = f"/assignments/{made['assignment_id']}/reassign"
    browser = signed_in(world)
    browser.get(path)
    assert choices(browser) == []
    assert not can_press(browser)
    assert "By its policy, in order, nobody: no candidate is eligible." in browser.page.text
    browser.get(f"{path}?also=nobody")
    assert "no active agent of that name" in browser.page.text
    browser.get(f"{path}?also=carol")
    assert choices(browser) == [(carol.id, True)]
    assert can_press(browser)
    assert "is paused" in browser.page.text
    browser.send(path, consider="yes", also="nobody", why="carol asked")
    assert "no active agent of that name" in browser.page.text
    browser.send(path, consider="yes", also="carol")
    assert browser.answer.status_code == 200
    assert browser.page.form(path)["why"] == "carol asked"
    assert choices(browser) == [(carol.id, True)]
    assert read(bob, made).get("agent_id") != carol.id
    browser.send(path, to="")
    assert browser.answer.status_code == 422
    browser.send(path, why="carol asked", to=carol.id)
    assert read(bob, made)["agent_id"] == carol.id


def test_what_is_worked_on_needs_a_tick(
    world: World, alice: Caller, bob: Caller, carol: Caller
) -> None:
    made = assign(bob, alice, carol)
    path = f"/assignments/{made['assignment_id']}/reassign"
    browser = signed_in(world)
    browser.get(path)
    early = browser.page.form(path)
    alice.claim()
    browser.post(path, {**early, "why": "stuck"})
    assert browser.answer.status_code == 422
    assert "alice works on it now." in browser.page.text
    browser.send(path, why="stuck", force="yes")
    assert read(bob, made)["agent_id"] == carol.id


def test_what_its_policy_chose_meanwhile_is_shown_before_it_is_done(
    world: World, alice: Caller, bob: Caller, carol: Caller
) -> None:
    made = assign(bob, alice, carol, bob)
    path = f"/assignments/{made['assignment_id']}/reassign"
    browser = signed_in(world)
    browser.get(path)
    set_agent(world, carol, paused=True)
    browser.send(path, why="alice sleeps")
    assert browser.answer.status_code == 409
    assert "As its policy says: bob" in browser.page.text
    assert read(bob, made)["agent_id"] == alice.id


def test_what_has_ended_offers_nothing(world: World, alice: Caller, bob: Caller) -> None:
    made = assign(bob, alice)
    path = f"/assignments/{made['assignment_id']}"
    browser = signed_in(world)
    settle(alice, "ack")
    browser.get(path)
    assert "Reassign…" not in browser.page.text
    assert browser.get(f"{path}/reassign").status_code == 409
    assert "It has ended meanwhile." in browser.page.text
    form = {"csrf": browser.token(), "why": "again", "to": alice.id}
    assert browser.post(f"{path}/reassign", form).status_code == 409


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.TENANT_ADMIN])
def test_wu_039_another_tenants_is_not_reassigned_nor_its_agents_named(
    world: World, alice: Caller, bob: Caller, role: Role
) -> None:
    made = assign(bob, alice)
    world.tenant("rival", "main")
    theirs = world.agent("rival", "theirs", verbs("main"))
    work = assign(theirs, theirs)
    rival = signed_in(world, tenant="rival", email="r@example.com", role=role)
    form = {"csrf": rival.token(), "why": "mine", "to": theirs.id}
    for named in (made["assignment_id"], unknown_id("asg"), "x"):
        assert rival.get(f"/assignments/{named}/reassign").status_code == 404
        assert rival.post(f"/assignments/{named}/reassign", form).status_code == 404
    path = f"/assignments/{work['assignment_id']}/reassign"
    told = set()
    for agent in (alice.id, unknown_id("agt")):
        rival.get(path, query_string={"also": agent})
        assert rival.answer.status_code == 200
        told.add(rival.page.one("main").text.replace(agent, ""))
        rival.post(path, {**form, "to": agent})
        assert rival.answer.status_code == 422
    assert len(told) == 1
    assert read(bob, made)["agent_id"] == alice.id

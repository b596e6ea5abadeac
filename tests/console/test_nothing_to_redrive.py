"""A redrive of which nothing would go: what needs force, and what lies there for removed agents."""

from __future__ import annotations

from restante.identity.roles import Role
from tests.console.browsing import Browser, audited, signed_in
from tests.console.test_quarantine_page import REDRIVE, links, sums
from tests.http.test_triage import ADMIN, poison
from tests.http.world import Caller, World


def count(browser: Browser) -> None:
    browser.get("/quarantine")
    browser.get(links(browser, REDRIVE)[0])


def test_what_needs_force_goes_with_it_or_is_refused(
    world: World, alice: Caller, bob: Caller
) -> None:
    for _ in range(2):
        bob.publish(alice, ordering_key="k")
    for verb, more in (("reject", {"reason": "x"}), ("ack", {})):
        (event,) = alice.claim(limit=1)
        body = {"claim_generation": event["claim_generation"], **more}
        assert alice.post(f"A/inbox/{event['event_id']}/{verb}", body).status_code == 200
    browser = signed_in(world)
    count(browser)
    assert sums(browser)["would be redriven"] == "0"
    assert "Redrive 0" not in browser.page.one("main").text
    (tick,) = [one.text for one in browser.page.all("label", **{"class": "tick"})][:1]
    assert tick == "Redrive 1, though it would run late or twice"
    before = len(audited(world))
    browser.send(REDRIVE, why="again", way="now")
    browser.follow()
    assert "None would go" in browser.page.one("div", role="alert").text
    assert "aria-invalid" in browser.page.one("input", name="force").attributes
    assert len(audited(world)) == before
    browser.send(REDRIVE, why="again", way="now", force="yes")
    assert browser.answer.status_code == 303
    assert audited(world)[-1].reason == "1 events: again"


def test_what_lies_there_for_a_removed_agent_is_left_out_and_said(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "x")
    poison(bob, alice, "x")
    boss = world.service("acme", "boss", ["tenant:agents:write"])
    assert boss.post(f"{ADMIN}/agents/{alice.id}/remove", {}).status_code == 200
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    count(browser)
    told = "left out: its agent is removed, so nobody would claim it: discard it"
    assert sums(browser) == {"match": "2", "would be redriven": "1", told: "1"}
    assert not browser.page.all("input", name="force")
    browser.send(REDRIVE, why="again", way="now")
    assert audited(world)[-1].reason == "1 events: again"

"""The overview: what needs somebody, worst first, and that quiet is said to be quiet."""

from __future__ import annotations

from restante.identity.roles import Role
from tests.console.browsing import Browser, signed_in
from tests.http.test_triage import poison
from tests.http.world import Caller, World


def needs(browser: Browser) -> list[str]:
    found = browser.page.all("ol", **{"class": "needs"})
    return [one.one("strong").text for one in found[0].all("li")] if found else []


def figures(browser: Browser) -> dict[str, str]:
    found = browser.page.one("dl", **{"class": "figures"})
    names, values = found.all("dt"), found.all("dd")
    return {name.text: value.text for name, value in zip(names, values, strict=True)}


def test_a_quiet_tenant_is_told_so(world: World) -> None:
    browser = signed_in(world)
    browser.get("/overview")
    assert "Nothing needs you" in browser.page.text
    assert needs(browser) == []
    assert figures(browser)["Pending"] == "0"
    assert "(!)" not in browser.page.one("title").text


def test_the_worst_comes_first_each_with_its_next_step(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "x", "x", "another")
    for _ in range(2):
        bob.publish(alice)
    alice.publish(bob)
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    browser.get(f"/inboxes/{bob.id}")
    browser.send(f"/inboxes/{bob.id}/pause")
    browser.get("/overview")
    assert needs(browser) == [
        "2 events quarantined by one cause",
        "1 event quarantined by one cause",
        "alice is away with mail waiting",
        "bob is paused and keeps receiving",
    ]
    assert figures(browser) | {"Oldest pending": ""} == {
        "Pending": "3",
        "Oldest pending": "",
        "In flight": "0",
        "Scheduled": "0",
        "Quarantined": "3",
    }
    title = browser.page.one("title").text
    assert title.startswith("(!)")
    links = [a.attributes["href"] for a in browser.page.all("a", **{"class": "button"})]
    for link in links:
        assert browser.get(link).status_code == 200, link
    browser.get(f"/inboxes/{bob.id}")
    browser.send(f"/inboxes/{bob.id}/disable")
    browser.get("/overview")
    assert needs(browser)[-1] == "bob cannot sign in, and has mail"


def test_wu_039_another_tenants_trouble_is_not_told(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "x")
    bob.publish(alice)
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    rival.get("/overview")
    assert "Nothing needs you" in rival.page.text
    assert "alice" not in rival.page.text
    assert figures(rival)["Quarantined"] == "0"

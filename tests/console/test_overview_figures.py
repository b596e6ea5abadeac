"""What the overview tells of inboxes that are very deep, and of those whose agents are removed."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import signed_in
from tests.console.test_overview_page import figures, needs
from tests.http.world import Caller, World


def test_what_is_counted_no_further_is_said_to_be_more(
    world: World, alice: Caller, bob: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("restante.inbox.inbox_list", "restante.inbox.attention"):
        monkeypatch.setattr(f"{name}.MOST", 3)
    monkeypatch.setattr("restante.inbox.inbox_list.LIVE", 2)
    browser = signed_in(world)
    for _ in range(3):
        bob.publish(alice)
    alice.publish(bob)
    browser.get("/overview")
    assert figures(browser)["Pending"] == "4"
    for _ in range(5):
        bob.publish(alice)
    browser.get("/overview")
    assert figures(browser)["Pending"] == "4+"


def test_what_lies_there_for_a_removed_agent_needs_nobody(
    world: World, alice: Caller, bob: Caller
) -> None:
    alice.publish(bob)
    alice.publish(bob)
    bob.claim(limit=1, lease_seconds=30)
    world.pass_time(120)
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    browser.get("/overview")
    assert needs(browser) == [
        "1 lease ended and nobody has taken the work up",
        "bob is away with mail waiting",
    ]
    browser.get(f"/inboxes/{bob.id}/remove")
    browser.send(f"/inboxes/{bob.id}/remove", why="gone", typed="bob")
    assert browser.answer.status_code == 303
    browser.get("/overview")
    assert needs(browser) == []
    assert figures(browser)["Pending"] != "0"

"""Removing an agent in the console: what it has is counted first, why is kept, and it is for good."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import Browser, audited, signed_in
from tests.console.test_quarantine_page import sums
from tests.console.well_made import check_light, check_made
from tests.http.assigning import assign
from tests.http.test_triage import poison
from tests.http.world import Caller, World, unknown_id, verbs
from tests.support.waiting import wait_until


@pytest.fixture
def admin(world: World) -> Browser:
    return signed_in(world, role=Role.TENANT_ADMIN)


def counted(browser: Browser) -> dict[str, str]:
    """The figures by the first word of what they are of."""
    return {title.split(":")[0].split(" ")[0]: many for title, many in sums(browser).items()}


def test_what_it_has_is_counted_and_what_becomes_of_it_is_said(
    world: World, alice: Caller, bob: Caller, admin: Browser
) -> None:
    poison(alice, bob, "x")
    bob.publish(alice)
    bob.publish(alice, delay_seconds=600)
    assign(bob, alice)
    alice.claim(limit=1)
    path = f"/inboxes/{alice.id}"
    admin.get(path)
    assert "Remove…" not in admin.page.text
    admin.send(f"{path}/disable")
    admin.get(path)
    (link,) = [a for a in admin.page.all("a") if a.text == "Remove…"]
    admin.get(link.attributes["href"])
    told = counted(admin)
    assert (told["Waits."], told["In"], told["Assignments"]) == ("2", "1", "1")
    assert (told["Credential,"], told["Grants,"], told["Streams,"]) == ("1", "4", "\u2013")
    assert "it expires once it is older than 30 days" in admin.page.text
    (others,) = [a for a in admin.page.all("a") if a.text == "Reassign them first"]
    assert admin.get(others.attributes["href"]).status_code == 200
    admin.get(link.attributes["href"])
    check_made(admin.page)
    check_light(admin.page)


def test_a_name_with_two_spaces_is_typed_as_it_is_shown(world: World, admin: Browser) -> None:
    agent = world.agent("acme", "a  b", verbs("main"))
    path = f"/inboxes/{agent.id}/remove"
    admin.get(path)
    admin.send(path, why="gone", typed="ab")
    assert admin.answer.status_code == 422
    admin.send(path, why="gone", typed="a b")
    assert admin.answer.status_code == 303


def test_it_takes_a_reason_and_its_name_and_then_nobody_can_send_to_it(
    world: World, alice: Caller, bob: Caller, admin: Browser
) -> None:
    (event,) = bob.publish(alice)
    path = f"/inboxes/{alice.id}/remove"
    admin.get(path)
    assert "Disabling it stops it as well" in admin.page.text
    for why, typed, said in (
        ("", "alice", "Say why"),
        ("x" * 301, "alice", "Say why"),
        ("replaced", "alic", "That is not its name"),
    ):
        admin.send(path, why=why, typed=typed)
        assert admin.answer.status_code == 422
        assert said in admin.page.one("div", role="alert").text
    assert alice.get("A/inbox").status_code == 200
    admin.send(path, why="replaced by alice-2", typed="alice")
    assert admin.answer.headers["Location"] == f"/inboxes/{alice.id}"
    entry = audited(world)[-1]
    assert (entry.action, entry.target, entry.reason) == (
        "agent.remove",
        alice.id,
        "alice: replaced by alice-2",
    )
    admin.get(f"/inboxes/{alice.id}")
    assert "It is removed, for good." in admin.page.text
    assert admin.get(f"/events/{event['event_id']}").status_code == 200
    assert "pending" in admin.page.one("h1").text
    more = {"recipients": [alice.id], "project": "main", "type": "t", "payload": {}}
    wait_until(  # a process may go for half a second by a recipient that it has just found
        lambda: bob.post("events", more).json.get("type") == "/problems/recipient-refused",
        "nobody can send to it",
    )
    assert admin.get(path).status_code == 404
    form = {"csrf": admin.token(), "why": "again", "typed": "alice"}
    admin.post(path, form)
    assert len([one for one in audited(world) if one.action == "agent.remove"]) == 1


def test_wu_039_anothers_agent_is_as_one_that_never_was_and_an_operator_removes_none(
    world: World, alice: Caller, admin: Browser
) -> None:
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    form = {"csrf": rival.token(), "why": "mine", "typed": "alice"}
    for named in (alice.id, unknown_id("agt"), "x"):
        assert rival.get(f"/inboxes/{named}/remove").status_code == 404
        assert rival.post(f"/inboxes/{named}/remove", form).status_code == 404
    operator = signed_in(world, email="o@example.com")
    operator.get(f"/inboxes/{alice.id}")
    assert "Remove" not in operator.page.text
    form["csrf"] = operator.token()
    assert operator.get(f"/inboxes/{alice.id}/remove").status_code == 403
    assert operator.post(f"/inboxes/{alice.id}/remove", form).status_code == 403
    assert alice.get("A/inbox").status_code == 200

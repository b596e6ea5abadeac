"""A program that names no agent: the operator picks which of his agents it shall log in as."""

from __future__ import annotations

from restante.identity.device_logins import ANY_AGENT, LoggedIn, Poll
from tests.console.browsing import Browser, actions, device, polled
from tests.console.test_device import browser, dock, looked_up
from tests.http.world import Caller, World, unknown_id, verbs

__all__ = ["browser", "dock"]


def test_for_a_program_that_names_no_agent_the_operator_picks_one(
    world: World, browser: Browser, dock: Caller
) -> None:
    for number in range(20):
        world.agent("acme", f"worker-{number:02}", verbs("main"))
    world.tenant("rival", "main")
    rival = world.agent("rival", "worker-of-a-rival", verbs("main"))
    waiting = device(world, ANY_AGENT)
    looked_up(browser, waiting.user_code)
    assert (browser.answer.status_code, browser.heading) == (200, "Which agent is it?")
    assert rival.id not in browser.answer.text
    listed = browser.page.all("button", name="agent")
    assert (len(listed), listed[0].text.split()[0]) == (12, "dock-tablet")
    browser.send("/device", index=2)  # Next
    assert browser.page.all("button", name="agent")[0].text.startswith("worker-11")
    browser.send("/device", named="DOCK")
    assert [one.attributes["value"] for one in browser.page.all("button", name="agent")] == [
        dock.id
    ]
    for named in ("%", "_", "no such"):
        browser.send("/device", named=named)
        assert browser.page.all("button", name="agent") == []
    browser.send("/device", agent=dock.id)
    assert browser.heading == "Approve dock-tablet?"
    assert "It names no scopes, and gets 2 of its 4 scopes" in browser.page.text
    browser.send("/device/approve", same="yes")
    world.pass_time(1)
    found = polled(world, waiting)
    assert isinstance(found, LoggedIn)
    assert sorted(map(str, found.scopes)) == ["agent:main:claim", "agent:main:read"]


def test_agents_of_others_and_none_are_not_picked(world: World, browser: Browser) -> None:
    world.tenant("rival", "main")
    rival = world.agent("rival", "other", verbs("main"))
    waiting = device(world)
    answers = []
    for agent in (rival.id, unknown_id("agt"), "nonsense"):
        looked_up(browser, waiting.user_code, agent=agent)
        answers.append((browser.answer.status_code, browser.page.one("p", role="alert").text))
        form = browser.page.form("/device/refuse") | {"same": "yes", "agent": agent}
        browser.post("/device/approve", form)
        assert browser.answer.status_code == 422
    assert set(answers) == {(422, "There is no such agent, or it is not active any more.")}
    browser.post("/device/approve", browser.page.form("/device/refuse") | {"same": "yes"})
    assert (browser.answer.status_code, browser.heading) == (409, "There is no agent yet")
    assert polled(world, waiting) is Poll.PENDING
    assert ("device.approve", "done") not in actions(world)


def test_another_agent_than_the_one_asked_for_is_not_approved(
    world: World, browser: Browser, dock: Caller
) -> None:
    other = world.agent("acme", "other", verbs("main"))
    waiting = device(world, dock.id)
    looked_up(browser, waiting.user_code, agent=other.id)
    assert browser.heading == "Approve dock-tablet?"
    browser.send("/device/approve", same="yes", agent=other.id)
    assert browser.answer.status_code == 409
    assert polled(world, waiting, dock.id) is Poll.PENDING

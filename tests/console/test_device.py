"""The device page (RFC 8628): typed, looked up, reviewed, then approved or refused, without scripts."""

from __future__ import annotations

import pytest

from restante.identity.device_logins import LoggedIn, Poll
from restante.identity.roles import Role
from tests.console.browsing import (
    Browser,
    actions,
    audited,
    device,
    operator_of,
    polled,
    signed_in,
)
from tests.http.world import Caller, World, verbs

WRONG = "BCDFG-HJKLM"


@pytest.fixture
def dock(world: World) -> Caller:
    """An agent that may read, claim, publish and write memory in main."""
    return world.agent("acme", "dock-tablet", verbs("main", "read", "claim", "publish", "memory"))


@pytest.fixture
def browser(world: World) -> Browser:
    return signed_in(world)


def looked_up(browser: Browser, code: str, **typed: str) -> Browser:
    browser.get("/device")
    browser.send("/device", user_code=code, **typed)
    return browser


def test_an_agents_device_is_reviewed_approved_and_logs_in(
    world: World, browser: Browser, dock: Caller
) -> None:
    asked = "agent:main:read agent:main:claim"
    waiting = device(world, dock.id, asked=asked, host="dock", user_agent="restante-agent/1.4")
    looked_up(browser, waiting.user_code.lower().replace("-", " "))
    assert (browser.answer.status_code, browser.heading) == (200, "Approve dock-tablet?")
    shown = browser.page.text
    for told in (
        waiting.user_code,
        dock.id,
        "acme",
        "host dock",
        "restante-agent/1.4",
        "192.0.2.1",
    ):
        assert told in shown
    assert "Unchecked" in shown
    assert "not the address you come from (192.0.2.9)" in shown
    assert "It asks for 2 of its 4 scopes" in shown
    assert [one.text for one in browser.page.all("ul")[0].all("code")] == [
        "agent:main:read",
        "agent:main:claim",
        "agent:main:memory",
        "agent:main:publish",
    ]
    assert polled(world, waiting, dock.id) is Poll.PENDING
    browser.send("/device/approve", same="yes")
    assert (browser.answer.status_code, browser.heading) == (
        200,
        "dock-tablet may log in on this device",
    )
    world.pass_time(6)
    found = polled(world, waiting, dock.id)
    assert isinstance(found, LoggedIn)
    assert sorted(map(str, found.scopes)) == ["agent:main:claim", "agent:main:read"]
    entry = next(entry for entry in audited(world) if entry.action == "device.approve")
    assert (entry.target, entry.address, entry.outcome) == (dock.id, "192.0.2.9", "done")
    assert entry.reason == "dock at 192.0.2.1: agent:main:read agent:main:claim"
    assert entry.request_id == browser.answer.headers["X-Request-Id"]


def test_jo_081_a_link_fills_the_code_in_and_approves_nothing(
    world: World, browser: Browser, dock: Caller
) -> None:
    waiting = device(world, dock.id)
    before = audited(world)
    for _ in range(2):
        browser.get(f"/device?user_code={waiting.user_code}")
        assert browser.answer.status_code == 200
    typed = browser.page.one("input", name="user_code")
    assert typed.attributes["value"] == waiting.user_code
    assert "dock-tablet" not in browser.answer.text
    assert audited(world) == before
    assert polled(world, waiting, dock.id) is Poll.PENDING
    browser.send("/device")
    assert "It came with the link" not in browser.answer.text
    assert browser.heading == "Approve dock-tablet?"


def test_nothing_is_approved_that_the_device_is_not_said_to_show(
    world: World, browser: Browser, dock: Caller
) -> None:
    waiting = device(world, dock.id)
    looked_up(browser, waiting.user_code)
    assert "required" in browser.page.one("input", name="same").attributes
    browser.send("/device/approve")
    assert browser.answer.status_code == 422
    assert browser.page.one("p", role="alert").text.startswith("Nothing was approved")
    assert polled(world, waiting, dock.id) is Poll.PENDING
    browser.send("/device/approve", same="yes")
    assert browser.answer.status_code == 200


def test_what_is_refused_stops_asking(world: World, browser: Browser, dock: Caller) -> None:
    waiting = device(world, dock.id)
    looked_up(browser, waiting.user_code)
    browser.send("/device/refuse")
    assert (browser.answer.status_code, browser.heading) == (200, "The device is refused")
    assert polled(world, waiting, dock.id) is Poll.DENIED
    assert actions(world)[-1] == ("device.deny", "done")


def test_a_form_that_is_sent_twice_is_answered_alike_and_done_once(
    world: World, browser: Browser, dock: Caller
) -> None:
    """Also where the second one says the opposite: what was decided stays."""
    waiting = device(world, dock.id)
    looked_up(browser, waiting.user_code)
    form = browser.page.form("/device/approve") | {"same": "yes"}
    heading = "dock-tablet may log in on this device"
    for path in ("/device/approve", "/device/approve", "/device/refuse", "/device"):
        browser.post(path, form)
        assert (browser.answer.status_code, browser.heading) == (200, heading), path
    assert [action for action, _ in actions(world)].count("device.approve") == 1
    assert ("device.deny", "done") not in actions(world)
    colleague = signed_in(world, email="b@example.com")
    looked_up(colleague, waiting.user_code)
    assert colleague.heading == "No device waits with this code"


def test_jo_082_unknown_foreign_over_and_decided_codes_are_alike(
    world: World, browser: Browser, dock: Caller
) -> None:
    world.tenant("rival", "main")
    rival = world.agent("rival", "dock-tablet", verbs("main"))
    foreign, over, decided = device(world, rival.id), device(world, dock.id), device(world)
    stranger = signed_in(world, tenant="rival")
    looked_up(stranger, decided.user_code, agent=rival.id)
    stranger.send("/device/refuse")
    pages = []
    for code in (WRONG, foreign.user_code, decided.user_code, "", "x" * 300):
        looked_up(browser, code)
        assert browser.answer.status_code == 404
        pages.append(same_page(browser, code))
    world.pass_time(601)
    looked_up(browser, over.user_code)
    pages.append(same_page(browser, over.user_code))
    assert set(pages) == {pages[0]}
    assert "No device waits with this code" in pages[0]
    assert actions(world).count(("device.refuse", "refused")) == 6
    assert not [e for e in audited(world) if foreign.user_code in repr(e)]


def same_page(browser: Browser, code: str) -> str:
    """The page without the code typed and the request's id."""
    text = browser.answer.text
    typed = browser.page.one("input", name="user_code").attributes["value"]
    for part in (f'value="{typed}"', browser.answer.headers["X-Request-Id"]):
        text = text.replace(part, "")
    assert code[:64] == typed
    return text


def test_jo_080_ten_wrong_codes_then_a_pause(world: World, browser: Browser, dock: Caller) -> None:
    waiting = device(world, dock.id)
    for _ in range(10):
        assert looked_up(browser, WRONG).answer.status_code == 404
    browser.get("/device")
    browser.send("/device", user_code=waiting.user_code)
    assert (browser.answer.status_code, browser.heading) == (429, "Too many tries")
    assert 1 <= int(browser.answer.headers["Retry-After"]) <= 60
    neighbour = signed_in(world, email="b@example.com")
    assert looked_up(neighbour, waiting.user_code).answer.status_code == 429, "from that address"
    neighbour.address = "198.51.100.1"
    assert looked_up(neighbour, waiting.user_code).answer.status_code == 200
    world.pass_time(61)
    assert looked_up(browser, waiting.user_code).answer.status_code == 200


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("agent:main:callback", "A scope that was asked for is not granted to this client."),
        ("agent:nowhere:read", "A scope that was asked for is not granted to this client."),
    ],
)
def test_more_than_granted_can_only_be_refused(
    world: World, browser: Browser, dock: Caller, asked: str, why: str
) -> None:
    waiting = device(world, dock.id, asked=asked)
    looked_up(browser, waiting.user_code)
    assert why in browser.page.text
    assert browser.page.buttons() == ["Sign out", "Refuse"]
    form = browser.page.form("/device/refuse") | {"same": "yes"}
    browser.post("/device/approve", form)
    assert browser.answer.status_code == 409
    assert polled(world, waiting, dock.id) is Poll.PENDING
    browser.post("/device/refuse", form)
    assert browser.heading == "The device is refused"


def test_other_logins_of_the_agent_are_counted(world: World, dock: Caller) -> None:
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    for expected in ("Other logins none", "Other logins 1, last seen"):
        waiting = device(world, dock.id)
        looked_up(browser, waiting.user_code)
        assert expected in browser.page.text
        browser.send("/device/approve", same="yes")
        assert isinstance(polled(world, waiting, dock.id), LoggedIn)


def test_who_is_signed_out_signs_in_first_and_comes_back(world: World, dock: Caller) -> None:
    waiting = device(world, dock.id)
    browser = Browser(world)
    browser.get(f"/device?user_code={waiting.user_code}")
    assert browser.answer.status_code == 303
    lead = browser.answer.headers["Location"]
    assert lead == f"/sign-in?next=/device%3Fuser_code%3D{waiting.user_code}"
    assert "/device" in browser.get(lead).text
    begun = browser.signs_in(operator_of(world))
    assert begun.headers["Location"] == f"/device?user_code={waiting.user_code}"
    browser.get(begun.headers["Location"])
    assert browser.page.one("input", name="user_code").attributes["value"] == waiting.user_code
    again = signed_in(world, email="b@example.com")
    assert again.answer.headers["Location"] == "/overview", (
        "it was remembered in that browser alone"
    )


def test_an_operator_of_the_platform_has_no_devices(world: World, dock: Caller) -> None:
    browser = signed_in(world, tenant=None, role=Role.PLATFORM_ADMIN)
    browser.get("/device")
    assert browser.answer.status_code == 403
    assert "takes the role operator or tenant admin" in browser.page.text
    assert browser.answer.headers["X-Request-Id"] in browser.page.text
    assert actions(world)[-1] == ("request.refuse", "refused")
    assert audited(world)[-1].target == "/device"
    assert "/device" not in browser.get("/account").text

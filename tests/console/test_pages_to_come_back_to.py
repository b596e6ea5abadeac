"""Where one is led after signing in, after another colour, from a wrong address: a page that can be got."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from restante.identity.operators import Operator
from restante.identity.roles import Role
from restante.identity.sessions import IDLE
from tests.console.browsing import Browser, actions, operator_of, signed_in
from tests.http.test_triage import poison
from tests.http.world import Caller, World, verbs

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
ON = "/scopes?agent=x"
POSTED = {
    f"/callbacks/cb_{'0' * 32}/approve": f"/callbacks/cb_{'0' * 32}",
    f"/events/evt_{'0' * 32}/amend": f"/events/evt_{'0' * 32}",
    "/scopes/preview": "/scopes",
    "/scopes/apply": "/scopes",
    f"/members/opr_{'0' * 32}/role": f"/members/opr_{'0' * 32}",
    f"/assignments/asg_{'0' * 32}/cancel": f"/assignments/asg_{'0' * 32}",
}


@pytest.fixture
def who(world: World) -> Operator:
    return operator_of(world, role=Role.TENANT_ADMIN)


@pytest.fixture
def browser(world: World, who: Operator) -> Browser:
    return signed_in(world, who)


def on(world: World, page: str) -> dict[str, str]:
    """The header of a form that is on that page."""
    return {"Referer": f"{world.house.settings.public_url}{page}"}


@pytest.mark.parametrize("path", POSTED)
def test_after_signing_in_one_is_on_the_page_of_the_form(
    browser: Browser, world: World, path: str
) -> None:
    form = {"csrf": browser.token(), "secret": "hush"}
    world.pass_time(IDLE.total_seconds() + 1)
    for headers, wanted in ((on(world, ON), ON), ({}, POSTED[path])):
        browser.post(path, form, headers=headers)
        there = parse_qs(urlsplit(browser.answer.headers["Location"]).query)
        assert there == {"next": [wanted]}
    browser.post("/theme", form)
    assert browser.answer.headers["Location"] == "/sign-in"


def test_a_form_whose_session_ran_out_is_sent_by_one_press(
    browser: Browser, world: World, who: Operator
) -> None:
    browser.get("/members/invite")
    world.pass_time(IDLE.total_seconds() + 1)
    browser.send("/members/invite", email="new@example.com", role="operator")
    there = browser.answer.headers["Location"]
    assert there.startswith("/sign-in?next=/sign-in/again/kept/")
    browser.follow()
    browser.signs_in(who)
    browser.follow()
    assert browser.page.form("/members/invite")["email"] == "new@example.com"
    assert ("operator.invite", "done") not in actions(world)[-2:], "nothing was done so far"
    browser.send("/members/invite")
    assert ("operator.invite", "done") in actions(world)


def test_of_a_session_that_was_ended_nothing_is_kept(browser: Browser, world: World) -> None:
    browser.get("/members/invite")
    form, cookie = browser.page.form("/members/invite"), browser.cookie() or ""
    browser.send("/sign-out")
    browser.client.set_cookie("restante-session", cookie, domain="127.0.0.1")
    browser.post("/members/invite", {**form, "email": "new@example.com"})
    assert browser.answer.headers["Location"] == "/sign-in?next=/members/invite"
    foreign = {**form, "csrf": "x"}
    assert browser.post("/members/invite", foreign).status_code == 403


def test_colours_on_a_page_that_answers_a_form_lead_to_one_that_can_be_got(
    world: World, alice: Caller, bob: Caller, browser: Browser
) -> None:
    (event,) = poison(alice, bob, "x")
    path = f"/events/{event}/amend"
    browser.post(path, {"csrf": browser.token()}, headers=on(world, path))
    assert browser.send("/theme", theme="dark").headers["Location"] == f"/events/{event}"
    agent = world.agent("acme", "anna", verbs("main"))
    form = {"csrf": browser.token(), "change": f"-{agent.id}.agent:main:publish"}
    browser.post("/scopes/preview", form, headers=on(world, ON))
    assert browser.answer.status_code in (200, 422)
    assert browser.send("/theme", theme="dark").headers["Location"] == ON


def test_a_page_that_sets_its_own_colours_stays(browser: Browser, world: World) -> None:
    browser.get("/overview")
    assert "theme.js" in browser.answer.text
    form, headers = browser.page.form("/theme"), {"Restante-Live": "1", "HX-Request": "true"}
    assert browser.post("/theme", {**form, "theme": "dark"}, headers=headers).status_code == 204
    assert browser.cookie("restante-theme") == "dark"
    world.pass_time(IDLE.total_seconds() + 1)
    assert browser.post("/theme", {**form, "theme": "dark"}, headers=headers).status_code == 401


@pytest.mark.parametrize("headers", [BROWSER, {"Accept": "*/*"}, {}], ids=str)
def test_an_address_that_takes_no_get_is_a_page_that_leads_on(
    browser: Browser, headers: dict[str, str]
) -> None:
    for path, there in POSTED.items():
        answer = browser.get(path, headers=headers)
        assert answer.content_type == "text/html; charset=utf-8", path
        if answer.status_code == 405:
            assert browser.page.one("a", href=there).text == "Go to the page it belongs to"
        else:
            assert answer.status_code == 404
    answer = browser.get("/inboxes/x/memory/x", headers=headers)
    assert (answer.status_code, browser.heading) == (404, "There is nothing here")
    json = browser.get("/inboxes/x/memory/x", headers={"Accept": "application/json"})
    assert json.content_type == "application/problem+json"
    nobody = Browser(browser.world).get("/nowhere")
    assert nobody.content_type == "application/problem+json"


def test_a_form_that_was_carried_out_does_nothing_else(
    world: World, alice: Caller, bob: Caller, browser: Browser
) -> None:
    path = "/quarantine/redrive"
    poison(alice, bob, "x", "y")
    browser.get(f"{path}?all=yes")
    form = {**browser.page.form(path), "why": "once"}
    browser.post(path, {**form, "why": ""})  # refused: the same form may be mended
    job = browser.post(path, form).headers["Location"]
    assert browser.post(path, form).headers["Location"] == job
    assert browser.post(path, {**form, "why": "twice"}).status_code == 422
    assert "was not done" in browser.page.text

"""Who sees which page, by which methods and under which addresses; and that all of it is in the audit."""

from __future__ import annotations

import json

import pytest
from flask import request

from blueprints.access import stated_by
from blueprints.console import BLUEPRINTS
from blueprints.problems import problem
from restante.identity.operators import disable_operator
from restante.identity.roles import RightMissing, Role, may
from restante.identity.sign_in_links import Purpose, make_link
from tests.console.browsing import (
    SESSION,
    Browser,
    actions,
    audited,
    device,
    operator_of,
    polled,
    signed_in,
)
from tests.console.test_web_ui_forms import filled, routes
from tests.http.world import World, verbs

CONSOLE = tuple(f"{blueprint.name}." for blueprint in BLUEPRINTS)
HTML = {"Accept": "text/html"}


def test_wu_037_pages_keep_to_the_table_of_roles(world: World) -> None:
    """Every route of the console, for nobody and for each role; its token is good, its ids nobody's."""
    browsers = {
        role: signed_in(
            world,
            tenant=None if role is Role.PLATFORM_ADMIN else "acme",
            role=role,
            email=f"{role.value}@example.com",
        )
        for role in Role
    }
    tried = 0
    for rule, method in routes(world, "GET", "POST"):
        if not rule.endpoint.startswith(CONSOLE):
            continue
        access = stated_by(world.app.view_functions[rule.endpoint])
        assert access is not None, rule.rule
        if not access.session or rule.rule == "/sign-out":
            continue
        nobody = Browser(world).ask(method, filled(rule))
        assert nobody.status_code == (303 if method == "GET" else 403), rule.rule
        for role, browser in browsers.items():
            address = f"192.0.2.{20 + tried % 200}"  # wrong codes are counted per address too
            browser.address = address
            answer = browser.ask(method, filled(rule), data={"csrf": browser.token()})
            if access.right is not None and not may(role, access.right):
                assert answer.status_code == 403, (rule.rule, role)
                assert "Your role does not include this" in answer.text
                target = audited(world)[-1].target
                assert target in filled(rule), (rule.rule, target)  # the address, or the id in it
            else:
                # 403: the page to prove anew who one is, without a link
                assert answer.status_code in (200, 303, 403, 404, 409, 422), (rule.rule, role)
                # a stream has no end to be read to
                streams = answer.mimetype == "text/event-stream"
                assert streams or "Your role" not in answer.text, (rule.rule, role)
                answer.close()
            tried += 1
    assert tried >= 20


def test_a_missing_right_is_a_problem_for_programs(world: World) -> None:
    with world.app.test_request_context("/api/v1/events"):
        answer = problem(RightMissing(), request)
    told = json.loads(answer.get_data())
    assert (answer.status_code, told["type"]) == (403, "/problems/right-missing")
    assert told["request_id"]


def test_wu_038_what_is_not_shown_is_refused_too(world: World) -> None:
    """An operator of the platform sends the forms that he is not shown."""
    waiting = device(world, world.agent("acme", "a", verbs("main")).id)
    browser = signed_in(world, tenant=None, role=Role.PLATFORM_ADMIN)
    form = {"csrf": browser.token(), "user_code": waiting.user_code, "same": "yes"}
    for path in ("/device", "/device/approve", "/device/refuse"):
        assert browser.post(path, form).status_code == 403
    assert polled(world, waiting, "nobody").value == "invalid_grant"
    assert not [a for a, outcome in actions(world) if a.startswith("device") and outcome == "done"]


def test_wu_039_a_session_of_another_is_as_one_that_never_was(world: World) -> None:
    world.tenant("rival")
    mine = signed_in(world)
    theirs = signed_in(world, tenant="rival", email="r@example.com")
    theirs.signs_in(operator_of(world, "rival", email="r2@example.com"))
    theirs.get("/account")
    other = signed_in(world, tenant="rival", email="r3@example.com")
    other.get("/account")
    entry = next(e for e in reversed(audited(world)) if e.action == "session.begin")
    told = []
    for named in (entry.target, "ses_" + "0" * 32):
        answer = mine.post(f"/account/sessions/{named}/revoke", {"csrf": mine.token()})
        told.append((answer.status_code, mine.heading))
    assert told == [(404, "There is nothing here")] * 2
    assert other.get("/account").status_code == 200


def test_who_is_disabled_sees_no_page_from_then_on(world: World) -> None:
    who = operator_of(world)
    browser = signed_in(world, who)
    assert browser.get("/device").status_code == 200
    world.house.database.run(lambda s: disable_operator(s, who.tenant_id, who.id))
    assert browser.get("/device").status_code == 303


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "FOO", "post", "TRACE", "OPTIONS"])
def test_wu_041_other_methods_are_refused(world: World, method: str) -> None:
    browser = signed_in(world)
    for path in ("/device/approve", "/sign-out", "/account"):
        answer = browser.ask(method, path, headers=HTML)
        # the test client says POST for `post`, as a lenient server might
        assert answer.status_code in ((403, 405) if method == "post" else (405,)), path
    assert browser.get("/account").status_code == 200


def test_wu_041_a_method_is_not_overridden(world: World) -> None:
    browser = signed_in(world)
    good = {"csrf": browser.token(), "_method": "POST"}
    headers = {"X-HTTP-Method-Override": "POST", **HTML}
    assert browser.get("/sign-out", query_string=good, headers=headers).status_code == 405
    assert browser.ask("HEAD", "/sign-out", headers=headers).status_code == 405
    assert browser.get("/account").status_code == 200


def test_wu_041_head_is_checked_as_get_is(world: World) -> None:
    for path in ("/account", "/device"):
        nobody = Browser(world)
        assert nobody.ask("HEAD", path).status_code == nobody.get(path).status_code == 303
    platform = signed_in(world, tenant=None, role=Role.PLATFORM_ADMIN)
    assert platform.ask("HEAD", "/device").status_code == 403


@pytest.mark.parametrize(
    "path",
    [
        "//account",
        "/account/",
        "/ACCOUNT",
        "/Device",
        "/device/",
        "/device;x=1",
        "/device/../account",
        "/device/%2e%2e/account",
        "/device%2f..%2faccount",
        "/account/sessions//revoke",
        "/account/sessions/a/b/revoke",
        "/device%00",
    ],
)
def test_wu_042_a_page_has_one_address(world: World, path: str) -> None:
    # the test client itself would take a path that begins with two slashes for a host
    raw = {"PATH_INFO": path} if path.startswith("//") else {}
    answer = signed_in(world).get(path.lstrip("/"), headers=HTML, environ_overrides=raw)
    assert answer.status_code == 404, path
    assert "Location" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static/..%5capp.py",
        "/static/....//app.py",
        "/static//etc/passwd",
        "/static/.git/config",
        "/.git/config",
        "/.env",
        "/static/console.css.map",
        "/static/",
    ],
)
def test_wu_043_style_sheets_are_all_that_is_served_as_files(world: World, path: str) -> None:
    assert world.client.get(path).status_code == 404, path


def test_wu_048_what_is_done_at_sign_in_is_in_the_audit(world: World) -> None:
    """One entry each, with who, where and by which request; refused tries too."""
    who = operator_of(world)
    dock = world.agent("acme", "dock", verbs("main"))
    browser = signed_in(world, who)
    steps: list[tuple[str, str]] = []

    def entry_of(action: str, outcome: str) -> None:
        steps.append((action, outcome))
        entry = audited(world)[-1]
        assert (entry.action, entry.outcome) == (action, outcome)
        assert (entry.address, entry.chain_id) == ("192.0.2.9", who.tenant_id)
        assert entry.actor_id == who.public_id
        assert entry.request_id == browser.answer.headers["X-Request-Id"]

    entry_of("session.begin", "done")
    count = len(audited(world))
    for decision in ("approve", "refuse"):
        waiting = device(world, dock.id)
        browser.get("/device")
        browser.send("/device", user_code=waiting.user_code)
        browser.send(f"/device/{decision}", same="yes")
        entry_of(f"device.{'deny' if decision == 'refuse' else decision}", "done")
    browser.get("/device")
    browser.send("/device", user_code="BCDFG")
    entry_of("device.refuse", "refused")
    browser.post("/device/approve", {"csrf": "wrong"})
    entry_of("request.refuse", "refused")
    again = str(browser.cookie())
    other = signed_in(world, who)
    listed = browser.get("/account")
    assert listed.status_code == 200
    browser.send("/account/sessions/revoke-others")
    entry_of("session.revoke", "done")
    assert other.get("/account").status_code == 303
    browser.post("/sign-out", {"csrf": browser.token()})
    entry_of("session.end", "done")
    # and the two entries (link, session) of the other browser's sign-in
    assert len(audited(world)) == count + len(steps) - 1 + 2
    stolen = Browser(world)
    stolen.client.set_cookie(SESSION, again, domain="127.0.0.1")
    assert stolen.get("/account").status_code == 303


def test_wu_048_a_failed_sign_in_is_in_the_audit(world: World) -> None:
    browser = Browser(world)
    who = operator_of(world)
    browser.signs_in(who)
    spent = browser.answer.request.path
    secret = spent.rpartition("/")[2]
    count = len(audited(world))
    browser.get("/sign-in/rstl_none")
    assert len(audited(world)) == count, "who only looks is not in it"
    link = Browser(world)
    fresh = world.house.database.run(lambda s: make_link(s, who, Purpose.SIGN_IN))
    link.get(f"/sign-in/{fresh}")
    token = link.page.one("input", name="csrf").attributes["value"]
    link.post(f"/sign-in/{secret}", {"csrf": token})
    assert link.answer.status_code == 410
    entry = audited(world)[-1]
    assert (entry.action, entry.outcome, entry.actor_kind) == ("signin.refuse", "refused", "client")
    assert (entry.target, entry.address) == (who.public_id, "192.0.2.9")
    assert secret not in repr(audited(world))


def test_wu_051_no_page_changes_the_audit(world: World) -> None:
    """Nor does any call: no route below it takes more than GET but that which takes a file of it away."""
    for rule, method in routes(world, "POST", "PUT", "PATCH", "DELETE"):
        assert "audit" not in rule.rule or rule.rule == "/audit/export", (method, rule.rule)
    browser = signed_in(world)
    before = audited(world)
    assert browser.post("/audit/export", {"csrf": browser.token(), "format": "csv"}).data
    assert audited(world)[:-1] == before

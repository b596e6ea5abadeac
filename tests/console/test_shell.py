"""The shell around the pages of a tenant: places by role, colours, weight, and scripts that are ours."""

from __future__ import annotations

import hashlib
import json
import re

import pytest

from restante.identity.roles import Role
from restante.identity.sessions import IDLE
from tests.console.browsing import Browser, signed_in
from tests.console.test_web_ui_headers import policy
from tests.console.well_made import STATIC, check_light, check_made
from tests.http.world import World

PAGES = (
    "/overview",
    "/inboxes",
    "/search?q=x",
    "/events",
    "/events/unread",
    "/assignments",
    "/rooms",
    "/quarantine",
    "/quarantine/events",
    "/quarantine/jobs",
    "/quarantine/redrive?all=yes",
    "/callbacks",
    "/scopes",
    "/scopes/history",
    "/scopes/templates",
    "/projects",
    "/projects/main",
    "/services",
    "/audit",
    "/audit/verification",
)
VENDORED = {
    "vendor/htmx-2.0.11.min.js": "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717",
    "vendor/htmx-LICENSE": "d3d2456f76414f2456104660ebd65aff1c04cd7966b942bdabd63f3cdb316a38",
}


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_one_heading_names_for_what_is_typed_and_nothing_inline(
    world: World, path: str
) -> None:
    browser = signed_in(world)
    browser.get(path)
    check_made(browser.page)


@pytest.mark.parametrize("path", [*PAGES, "/account", "/device"])
def test_style_of_a_page_is_light(world: World, path: str) -> None:
    """At most 20 KiB raw, whatever page it is."""
    browser = signed_in(world)
    browser.get(path)
    check_light(browser.page)


def test_wu_052_what_is_vendored_is_what_was_published(world: World) -> None:
    """From the registry's packages, with the licence beside it."""
    for name, digest in VENDORED.items():
        assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == digest, name
    there = {f"vendor/{path.name}" for path in (STATIC / "vendor").iterdir()}
    assert there == VENDORED.keys()


def test_every_icon_that_a_page_shows_is_drawn(world: World) -> None:
    drawn = set(re.findall(r'<symbol id="([a-z]+)"', (STATIC / "icons.svg").read_text()))
    browser = signed_in(world)
    for path in PAGES:
        browser.get(path)
        used = {one.attributes["href"].rpartition("#")[2] for one in browser.page.all("use")}
        assert used <= drawn, (path, used - drawn)


def test_the_rail_has_what_the_role_may_open_and_says_where_one_is(world: World) -> None:
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    browser.get("/quarantine")
    nav = browser.page.one("nav", **{"aria-label": "Console"})
    current = [a.text for a in nav.all("a") if a.attributes.get("aria-current") == "page"]
    assert current == ["Quarantine"]
    for link in nav.all("a"):
        assert browser.get(link.attributes["href"]).status_code == 200, link.attributes["href"]


def test_colours_are_chosen_by_a_form_and_kept(world: World) -> None:
    browser = signed_in(world)
    for wanted in ("dark", "light", "system", "neither"):
        browser.get("/quarantine?code=x")
        answer = browser.send("/theme", theme=wanted)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/quarantine?code=x")
        browser.get("/quarantine")
        chosen = wanted if wanted in ("dark", "light") else None
        assert browser.page.one("html").attributes.get("data-theme") == chosen
    browser.get("/quarantine")
    answer = browser.send("/theme", theme="dark", next="//evil.example")
    assert answer.headers["Location"] == "/overview"
    cookie = next(c for c in answer.headers.getlist("Set-Cookie") if "theme" in c)
    assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= set(cookie.split("; "))


def test_wu_018_scripts_are_ours_and_nothing_is_evaluated(world: World) -> None:
    browser = signed_in(world)
    for path in PAGES:
        rules = policy(browser.get(path))
        assert rules["script-src"] == rules["connect-src"] == "'self'"
        assert rules["default-src"] == "'none'"


def test_wu_053_switches_of_htmx(world: World) -> None:
    """No eval, no scripts of a part, no style of its own, no history kept."""
    text = (STATIC.parent / "templates/console/shell.html").read_text()
    found = re.search(r"name=\"htmx-config\" content='([^']+)'", text)
    assert found
    assert json.loads(found[1]) == {
        "allowEval": False,
        "allowScriptTags": False,
        "includeIndicatorStyles": False,
        "selfRequestsOnly": True,
        "historyCacheSize": 0,
    }


def test_an_operator_of_the_platform_has_no_pages_of_tenants(world: World) -> None:
    browser = signed_in(world, tenant=None, role=Role.PLATFORM_ADMIN)
    for path in PAGES[1:]:
        assert browser.get(path).status_code == 403, path
    assert browser.get("/overview").headers["Location"] == "/platform"


def test_who_has_a_session_finds_the_overview_at_the_root(world: World) -> None:
    browser = signed_in(world)
    assert browser.get("/").headers["Location"] == "/overview"
    assert "no-store" in browser.answer.headers["Cache-Control"]
    assert Browser(world).get("/").status_code == 200


def test_wu_016_a_part_that_asks_by_itself_keeps_no_session_alive(world: World) -> None:
    browser: Browser = signed_in(world)
    world.pass_time(IDLE.total_seconds() - 60)
    assert browser.get("/quarantine/jobs/x/progress").status_code == 404
    world.pass_time(90)
    assert browser.get("/quarantine").status_code == 303

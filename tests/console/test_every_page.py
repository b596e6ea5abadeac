"""Every page that the URL map has: well made, light, and its forms carry their token. None is named here."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from restante.identity.roles import Role
from tests.browser.pages import pages_of
from tests.console.browsing import Browser, signed_in
from tests.console.desk import template_of
from tests.console.html import Element
from tests.console.test_web_ui_headers import policy
from tests.console.well_made import STATIC, check_light, check_made
from tests.http.household import settle_in
from tests.http.world import World

MOST_BYTES = 120 * 1024
"""Of a page with all that it loads, when nothing is kept from before."""
BARE = ("/account", "/device", "/sign-in")
"""Pages without the shell are looked at in tests of their own."""


def ids_of(world: World) -> dict[str, str]:
    """What is there, by the names that routes give it."""
    home = settle_in(world, "acme", "anna")
    group = home.boss.get("admin/quarantine").json["groups"][0]
    found = {"slug": "main", "signature": group["failure_signature"]}
    return {**asdict(home.ids), **found, "template_id": template_of(world, "acme")}


def loaded(page: Element) -> list[str]:
    """Addresses of what a browser fetches with it."""
    found = [one.attributes["href"] for one in page.all("link")]
    found += [one.attributes["src"] for tag in ("script", "img") for one in page.all(tag)]
    found += [one.attributes["href"].partition("#")[0] for one in page.all("use")]
    return sorted(set(found))


def check(browser: Browser, path: str) -> None:
    page = browser.page
    check_made(page)
    check_light(page)
    assert page.one("title").text.endswith("· Restante"), path
    assert page.one("html").attributes["lang"] == "en"
    for form in page.all("form"):
        if form.attributes.get("method") == "post":
            assert form.all("input", name="csrf"), (path, form.attributes)
    for part in page:
        if "data-live" in part.attributes:
            assert part.attributes.get("id"), (path, part.attributes)
    for cell in page.all("table"):
        assert len(cell.all("caption")) == 1, path
    addresses = loaded(page)
    assert all(address.startswith("/static/") for address in addresses), path
    files = [STATIC / address.removeprefix("/static/") for address in addresses]
    size = len(browser.answer.data) + sum(len(file.read_bytes()) for file in files)
    assert size <= MOST_BYTES, (path, size)
    rules = policy(browser.answer)
    assert rules["default-src"] == "'none'"
    assert "no-store" in browser.answer.headers["Cache-Control"]


@pytest.mark.parametrize("what", ["full", "empty"])
def test_every_page_of_a_tenant(world: World, what: str) -> None:
    full = what == "full"
    ids = ids_of(world) if full else {"slug": "main"}
    browser, looked_at = signed_in(world, role=Role.TENANT_ADMIN), 0
    for path in pages_of(world.app, Role.TENANT_ADMIN, ids):
        answer = browser.get(path)
        if answer.status_code != 200 or answer.mimetype != "text/html" or path.startswith(BARE):
            continue
        if not browser.page.all("nav", id="places"):
            continue  # a part of a page
        check(browser, path)
        looked_at += 1
    assert looked_at > (25 if full else 12)


def test_every_page_of_the_platform(world: World) -> None:
    browser = signed_in(world, tenant=None, role=Role.PLATFORM_ADMIN)
    paths = [p for p in pages_of(world.app, Role.PLATFORM_ADMIN, {}) if p.startswith("/platform")]
    assert paths
    for path in paths:
        assert browser.get(path).status_code == 200
        check(browser, path)

"""The platform's pages: for who is the platform's alone, with nothing of what is in a tenant."""

from __future__ import annotations

from restante.identity.roles import Role
from restante.identity.sign_in_links import Purpose, make_link
from tests.console.browsing import Browser, actions, operator_of, signed_in
from tests.console.well_made import check_light, check_made
from tests.http.world import Caller, World

PAGES = ("/platform", "/platform/tenants", "/platform/audit")


def platform(world: World) -> Browser:
    return signed_in(world, tenant=None, role=Role.PLATFORM_ADMIN, email="p@example.com")


def test_the_server_tells_what_it_is_and_how(world: World, alice: Caller) -> None:
    browser = platform(world)
    browser.get("/platform")
    text = browser.page.text
    assert "Restante 0.1.0" in text
    assert world.house.settings.public_url in text
    assert "SQLite" in text or "MySQL" in text or "MariaDB" in text
    assert text.count("nothing is overdue") == 4
    assert "Maintenance does not run" in text
    assert "tokens signs" in text.replace("  ", " ")
    assert "PRIVATE" not in browser.answer.text
    links = [
        a.attributes["href"] for a in browser.page.one("nav", **{"aria-label": "Console"}).all("a")
    ]
    assert links == ["/platform"]
    assert browser.page.all("form", role="search") == []
    for path in PAGES:
        assert browser.get(path).status_code == 200
        check_made(browser.page)
        check_light(browser.page)


def test_what_lags_behind_is_said(world: World, alice: Caller, bob: Caller) -> None:
    bob.publish(alice, delay_seconds=5)
    world.pass_time(125)
    browser = platform(world)
    browser.get("/platform")
    assert "2 min behind" in browser.page.text.replace("\N{NO-BREAK SPACE}", " ")


def test_a_tenant_is_made_once_who_makes_it_has_proved_anew(world: World, alice: Caller) -> None:
    who = operator_of(world, None, Role.PLATFORM_ADMIN, "p@example.com")
    browser = signed_in(world, who)
    browser.get("/platform/tenants")
    assert "acme" in browser.page.text
    assert "1 agents" in browser.page.text
    world.pass_time(1200)
    browser.send("/platform/tenants", name="new-one")
    assert browser.answer.headers["Location"].startswith("/sign-in/again")
    secret = world.house.database.run(lambda s: make_link(s, who, Purpose.SIGN_IN))
    browser.get("/sign-in/again")
    assert browser.send("/sign-in/again", link=secret).status_code == 303
    browser.get("/platform/tenants")
    browser.send("/platform/tenants", name="acme")
    assert (browser.answer.status_code, "exists already" in browser.page.text) == (422, True)
    browser.send("/platform/tenants", name="new-one")
    assert browser.answer.status_code == 303
    assert actions(world)[-1] == ("tenant.create", "done")
    browser.get("/platform/tenants")
    assert "new-one" in browser.page.text
    assert "required" in browser.page.text
    browser.get("/platform/audit")
    assert "tenant.create" in browser.page.text
    assert "agent.create" not in browser.page.text

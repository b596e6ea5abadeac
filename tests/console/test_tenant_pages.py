"""Projects, services and settings in the console: what is made and set there, and secrets shown once."""

from __future__ import annotations

import pytest

from restante.identity.operators import disable_operator
from restante.identity.roles import Role
from tests.console.browsing import Browser, actions, audited, operator_of, signed_in
from tests.console.well_made import check_light, check_made
from tests.http.world import Caller, World, unknown_id, verbs


@pytest.fixture
def admin(world: World) -> Browser:
    return signed_in(world, role=Role.TENANT_ADMIN, email="boss@example.com")


def rows(browser: Browser) -> list[str]:
    return [one.text for one in browser.page.all("th", scope="row")]


def test_a_project_is_made_and_set(world: World, admin: Browser, alice: Caller) -> None:
    admin.get("/projects")
    assert rows(admin) == ["main", "other"]
    answer = admin.send("/projects", slug="third")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/projects/third")
    admin.get("/projects/main")
    form = {"unread_after_seconds": "90", "unit": "min", "unread_escalate_to": "alice"}
    answer = admin.send("/projects/main", on_quarantine="hold", **form)
    assert answer.status_code == 303
    assert actions(world)[-1] == ("project.update", "done")
    admin.get(answer.headers["Location"])
    assert "It is set." in admin.page.text
    now = admin.page.form("/projects/main")
    assert (now["on_quarantine"], now["unread_after_seconds"]) == ("hold", "90")
    assert now["unread_escalate_to"] == "alice"
    admin.get("/projects")
    assert "told to alice after 1 h 30 min" in admin.page.text
    world.tenant("rival", "theirs")
    admin.get("/projects")
    assert rows(admin) == ["main", "other", "third"]


def test_what_is_wrong_with_a_project_is_said_and_nothing_changes(
    world: World, admin: Browser
) -> None:
    before = len(audited(world))
    admin.get("/projects")
    for slug, said in (("main", "already"), ("with space", "letters, digits"), ("", "letters")):
        assert admin.post("/projects", {"csrf": admin.token(), "slug": slug}).status_code == 422
        assert said in admin.page.one("p", id="fault-slug").text
    admin.get("/projects/main")
    good = admin.page.form("/projects/main")
    for field, typed in (
        ("on_quarantine", "never"),
        ("unread_after_seconds", "-1"),
        ("unread_after_seconds", "99999999"),
        ("unread_escalate_to", "nobody"),
    ):
        answer = admin.post("/projects/main", {**good, "unit": "d", field: typed})
        assert answer.status_code == 422, field
        assert admin.page.one("p", id=f"fault-{field}").text, field
    assert len(audited(world)) == before


def test_a_service_is_made_and_its_secret_is_shown_once(world: World, admin: Browser) -> None:
    admin.get("/services")
    assert "No services yet" in admin.page.text
    admin.get("/services/new")
    form = {**admin.page.form("/services/new"), "name": "ci", "more": "agent:main:read"}
    answer = admin.post("/services/new", {**form, "scope": "tenant:events:publish"})
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    service_id = admin.page.one("p", id="client-id").text
    caller = Caller(world.client, service_id, admin.page.one("p", id="client-secret").text)
    caller = world.narrowed(caller, ["tenant:events:publish", "agent:main:read"])
    admin.get("/services")
    assert rows(admin) == ["ci"]
    admin.get(f"/services/{service_id}")
    assert "Publish to every agent" in admin.page.text
    assert caller.secret not in admin.answer.text
    # two secrets at most; the one before stays good until it is revoked
    answer = admin.send(f"/services/{service_id}/credentials")
    second = admin.page.one("p", id="client-secret").text
    assert second != caller.secret
    full = admin.post(f"/services/{service_id}/credentials", {"csrf": admin.token()})
    assert full.status_code == 409
    assert "revoke one first" in admin.page.text
    revokes = [f.attributes.get("action", "") for f in admin.page.all("form")]
    first = next(path for path in revokes if path.endswith("/revoke"))
    assert admin.send(first).status_code == 303
    assert actions(world)[-1] == ("credential.revoke", "done")
    assert caller.get(f"events/{unknown_id('evt')}").status_code == 401


def test_a_service_is_disabled_enabled_and_removed(
    world: World, admin: Browser, ci: Caller
) -> None:
    path = f"/services/{ci.id}"
    for act, action, said in (
        ("disable", "service.disable", "It is disabled."),
        ("enable", "service.enable", "Disable this service"),
        ("disable", "service.disable", "It is disabled."),
        ("remove", "service.remove", "It is removed, for good."),
    ):
        admin.get(path)
        assert admin.send(f"{path}/{act}").headers["Location"] == path
        assert actions(world)[-1] == (action, "done")
        admin.get(path)
        assert said in admin.page.text, act
    assert "Enable" not in admin.page.buttons()
    assert admin.get("/services?state=removed").status_code == 200
    assert rows(admin) == ["ci"]


def test_what_is_wrong_with_a_service_is_said(world: World, admin: Browser, ci: Caller) -> None:
    before = len(audited(world))
    form = {"csrf": admin.token(), "name": "new", "scope": "tenant:audit:read"}
    for changed, field in (
        ({"name": "ci"}, "name"),
        ({"name": ""}, "name"),
        ({"scope": ""}, "scopes"),
        ({"more": "agent:nowhere:read"}, "scopes"),
        ({"more": "tenant:everything"}, "scopes"),
    ):
        answer = admin.post("/services/new", {**form, **changed})
        assert answer.status_code == 422, changed
        assert admin.page.one("p", id=f"fault-{field}").text
    assert len(audited(world)) == before


def test_settings_are_read_and_set(world: World, admin: Browser) -> None:
    admin.get("/settings")
    form = {
        **admin.page.form("/settings"),
        "require_signatures": "yes",
        "max_pending": "50,000",
        "allowed_origins": "https://b.example.com\r\nhttps://a.example.com",
        "redacted_paths": "/lines/*/price\r\n\r\n /customer/iban",
    }
    assert admin.post("/settings", form).headers["Location"] == "/settings?set=yes"
    entry = audited(world)[-1]
    assert entry.action == "tenant.update"
    assert "require_signatures true" in entry.reason
    admin.get("/settings?set=yes")
    now = admin.page.form("/settings")
    assert now["max_pending"] == "50000"
    assert now["allowed_origins"] == "https://a.example.com\nhttps://b.example.com"
    assert now["redacted_paths"] == "/customer/iban\n/lines/*/price"
    box = admin.page.one("input", name="require_signatures")
    assert "checked" in box.attributes
    assert "30 days" in admin.page.text
    for field, typed in (
        ("max_pending", "0"),
        ("max_pending", "x"),
        ("allowed_origins", "*"),
        ("redacted_paths", "x"),
    ):
        wrong = {**now, "require_signatures": "yes", field: typed}
        assert admin.post("/settings", wrong).status_code == 422
        assert admin.page.one("p", id=f"fault-{field}").text
        assert "checked" in admin.page.one("input", name="require_signatures").attributes
    assert audited(world)[-1] == entry


def test_pages_of_admins_are_well_made_and_light(world: World, admin: Browser, ci: Caller) -> None:
    staff = operator_of(world)
    world.house.database.run(lambda s: disable_operator(s, staff.tenant_id, staff.id))
    invited = operator_of(world, email="new@example.com")
    for path in (
        "/projects/main",
        "/services/new",
        f"/services/{ci.id}",
        "/members",
        "/members/invite",
        f"/members/{staff.public_id}",
        f"/members/{invited.public_id}",
        "/settings",
    ):
        assert admin.get(path).status_code == 200
        check_made(admin.page)
        check_light(admin.page)


def test_wu_038_an_operator_looks_and_changes_nothing(world: World, ci: Caller) -> None:
    browser = signed_in(world)
    for path in ("/projects", "/projects/main", "/services", f"/services/{ci.id}"):
        assert browser.get(path).status_code == 200, path
        actions_there = {one.attributes.get("action", "") for one in browser.page.all("form")}
        assert actions_there <= {"", "/search", "/theme", "/sign-out", "/services"}, path
        assert not browser.page.all("a", href="/services/new")
    rail = browser.page.one("nav", **{"aria-label": "Console"}).text
    assert "Projects" in rail
    assert "Settings" not in rail
    assert "Members" not in rail
    for path in ("/settings", "/members", "/services/new", "/members/invite"):
        assert browser.get(path).status_code == 403, path


def test_what_takes_a_fresh_proof_asks_for_it_and_leads_back(world: World, ci: Caller) -> None:
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    token = browser.token()
    world.pass_time(601)
    before = len(audited(world))
    for method, path in (
        ("GET", "/services/new"),
        ("GET", "/members/invite"),
        ("POST", f"/services/{ci.id}/credentials"),
        ("POST", f"/services/{ci.id}/credentials/{unknown_id('key')}/revoke"),
        ("POST", f"/members/{unknown_id('opr')}/disable"),
    ):
        answer = browser.ask(method, path, data={"csrf": token})
        assert answer.headers["Location"].startswith("/sign-in/again"), path
    assert browser.get("/services/new").headers["Location"] == "/sign-in/again?next=/services/new"
    # a page that asks by itself takes nobody from what he types
    live = {"Restante-Live": "1", "HX-Request": "true"}
    answer = browser.get("/services/new", headers=live)
    assert (answer.status_code, answer.headers.get("HX-Redirect")) == (204, None)
    assert len(audited(world)) == before


def test_wu_039_services_of_others_are_as_those_that_never_were(world: World) -> None:
    world.tenant("rival", "theirs")
    theirs = world.service("rival", "ci", ["tenant:events:publish"])
    agent = world.agent("acme", "mine", verbs("main"))
    browser = signed_in(world, role=Role.TENANT_ADMIN)
    form = {"csrf": browser.token()}
    for named in (theirs.id, unknown_id("svc"), agent.id, "x"):
        for method, path in (
            ("GET", ""),
            ("POST", "/disable"),
            ("POST", "/remove"),
            ("POST", "/credentials"),
            ("POST", f"/credentials/{unknown_id('key')}/revoke"),
        ):
            answer = browser.ask(method, f"/services/{named}{path}", data=form)
            assert (answer.status_code, browser.heading) == (404, "There is nothing here")
    assert browser.get("/projects/theirs").status_code == 404
    assert browser.post("/projects/theirs", form).status_code == 404

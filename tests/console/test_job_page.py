"""A job's page: what stands there once it is over, and who stopped it."""

from __future__ import annotations

from restante.identity.roles import Role
from tests.console.browsing import Browser, operator_of, signed_in
from tests.http.test_triage import ADMIN, poison, work_off
from tests.http.world import Caller, World


def started(browser: Browser, way: str) -> str:
    browser.get("/quarantine")
    links = [a.attributes["href"] for a in browser.page.all("a")]
    browser.get(next(href for href in links if href.startswith("/quarantine/redrive")))
    browser.send("/quarantine/redrive", why="better now", way=way)
    return browser.answer.headers["Location"]


def test_who_stopped_a_job_is_told(world: World, alice: Caller, bob: Caller) -> None:
    poison(alice, bob, "x", "x", "x")
    browser, other = signed_in(world), signed_in(world, email="other@example.com")
    job = started(browser, "slow")
    other.get(job)
    assert "Stop, keep the rest" in other.page.buttons()
    assert other.page.one("footer", id="stop")
    other.send(f"{job}/cancel")
    for address in (job, f"{job}/progress"):
        browser.get(address)
        assert "Stopped by other@example.com" in browser.page.text
    browser.get("/quarantine/jobs")
    assert "Redrive 3 stopped" in browser.page.text
    stops = world.service("acme", "ci", ["tenant:quarantine:write"])
    job = started(browser, "slow")
    assert stops.post(f"{ADMIN}/jobs/{job.rpartition('/')[2]}/cancel", {}).status_code == 200
    browser.get(job)
    assert "Stopped by ci" in browser.page.text


def test_all_that_moves_is_in_the_part_that_is_asked_for_anew(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "answered 503", "answered 502", "answered 503")
    browser = signed_in(world)
    job = started(browser, "slow")
    browser.get(f"{job}/progress")
    said = browser.page.text
    assert "What is left by cause" in said
    assert "answered 503 and alike 3" in said
    assert "Running, about 3 s left" in said
    assert "What is left" not in browser.get(job).text.split('id="progress"')[0]


def test_a_job_that_is_over_is_not_offered_to_be_stopped(
    world: World, alice: Caller, bob: Caller
) -> None:
    """The button stands outside the part that is asked for anew: with its end that has it taken away."""
    poison(alice, bob, "x")
    browser = signed_in(world)
    job = started(browser, "now")
    browser.get(job)
    assert " ago" not in browser.page.one("p", **{"class": "facts-line"}).text
    browser.get(f"{job}/progress")
    assert not browser.page.all("footer")
    work_off(world)
    browser.get(f"{job}/progress")
    assert browser.page.one("footer", id="stop").attributes["hx-swap-oob"] == "delete"
    browser.get(job)
    assert not browser.page.all("footer", id="stop")
    assert "Stop, keep the rest" not in browser.page.buttons()


def test_the_last_admin_is_not_offered_to_leave(world: World) -> None:
    admin = signed_in(world, role=Role.TENANT_ADMIN)
    admin.get("/members")
    (path,) = [
        a.attributes["href"]
        for a in admin.page.all("a")
        if a.attributes["href"].startswith("/members/opr_")
    ]
    admin.get(path)
    assert not {"Disable this member", "Change the role"} & set(admin.page.buttons())
    assert "the only one who can sign in" in admin.page.text
    for verb, form in (("disable", {}), ("role", {"role": "operator"})):
        answer = admin.post(f"{path}/{verb}", {"csrf": admin.token(), **form})
        assert answer.status_code == 409
    operator_of(world, role=Role.TENANT_ADMIN, email="asked@example.com")  # has never been here
    admin.get(path)
    assert "Disable this member" not in admin.page.buttons()
    signed_in(world, role=Role.TENANT_ADMIN, email="second@example.com")
    admin.get(path)
    assert {"Disable this member", "Change the role"} <= set(admin.page.buttons())


def test_who_may_not_change_scopes_has_no_form_for_them(world: World, alice: Caller) -> None:
    browser = signed_in(world)
    browser.get(f"/scopes/{alice.id}")
    assert browser.page.one("table")
    actions = {form.attributes.get("action") for form in browser.page.all("form")}
    assert "/scopes/preview" not in actions

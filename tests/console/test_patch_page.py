"""Amending many in the console: a patch, what it would do, one of them before and after, a reason, a job."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import Browser, actions, audited, signed_in
from tests.console.test_quarantine_page import sums
from tests.console.well_made import check_light, check_made
from tests.http.assigning import settle
from tests.http.test_triage import poison, rejected_work, work_off
from tests.http.world import Caller, World

AMEND = "/quarantine/amend"
PATCH = '{"currency": "EUR"}'


def check(browser: Browser, **typed: str) -> None:
    """Have it checked; what is right is shown at an address that one can come back to."""
    browser.send(AMEND, step="check", **typed)
    browser.follow()


def changes(browser: Browser) -> list[str]:
    """The lines that change in the one that is shown."""
    (shown,) = browser.page.all("ol", **{"class": "diff"})
    return [one.text for one in shown.all("li") if "class" in one.attributes]


def test_a_whole_cause_is_amended_after_a_look_at_one(
    world: World, alice: Caller, bob: Caller
) -> None:
    ids = poison(alice, bob, "no field 'a' in 17", "no field 'b' in 23", "else")
    browser = signed_in(world)
    browser.get("/quarantine")
    cause = next(
        a.attributes["href"]
        for a in browser.page.all("a")
        if a.attributes["href"].startswith("/quarantine/causes/")
    )
    browser.get(cause)
    (link,) = [a for a in browser.page.all("a") if a.text == "Amend all 2…"]
    browser.get(link.attributes["href"])
    assert browser.heading == "Amend 2 events"
    check_made(browser.page)
    check_light(browser.page)
    check(browser, patch=PATCH)
    assert sums(browser) == {"match": "2", "would be amended": "2"}
    assert changes(browser) == ['+ "currency": "EUR"']
    assert ("payload.read", "done") in actions(world)
    check_made(browser.page)
    browser.send(AMEND, step="go", why=" ")
    browser.follow()
    assert "Nothing was done" in browser.page.one("div", role="alert").text
    browser.send(AMEND, step="go", why="it is always euros", patch='{"currency": "USD"}')
    browser.follow()
    said = browser.page.one("div", role="alert").text
    assert said.startswith("Nothing was done: what changes was changed since it was checked")
    check(browser, patch=PATCH)
    form = {**browser.page.form(AMEND), "step": "go", "why": "it is always euros", "way": "now"}
    browser.post(AMEND, form)
    job = browser.answer.headers["Location"]
    browser.post(AMEND, form)  # pressed twice, one job
    assert browser.answer.headers["Location"] == job
    entry = [one for one in audited(world) if one.action == "event.amend"]
    assert [one.reason for one in entry] == ["2 events: it is always euros"]
    work_off(world)
    browser.get(job)
    assert sums(browser)["amended"] == "2 of 2"
    told = alice.claim(limit=10)
    assert [(e["payload"], e["corrects"]) for e in told] == [
        ({"n": 1, "currency": "EUR"}, one) for one in ids[:2]
    ]


def test_those_that_are_ticked_and_what_the_patch_does_not_change_is_passed_over(
    world: World, alice: Caller, bob: Caller
) -> None:
    ids = poison(alice, bob, "x", "y", "z")
    browser = signed_in(world)
    browser.get("/quarantine/events")
    assert "Amend ticked…" in browser.page.buttons()
    browser.get(AMEND, query_string={"event": ids[:2]})
    check(browser, patch='{"n": 1}')
    assert browser.page.all("ol", **{"class": "diff"}) == []
    assert sums(browser)["would be amended"] == "0"
    assert "Amend 2 events" not in browser.page.buttons()
    check(browser, patch='{"m": 1, "m": 2}')
    assert "names the member 'm' twice" in browser.page.one("div", role="alert").text
    for wrong in ("[1]", "{", '"x"'):
        check(browser, patch=wrong)
        assert browser.answer.status_code == 422
        assert "column 1" in browser.page.one("div", role="alert").text or wrong == "{"
    browser.get(AMEND, query_string={"event": ids[:2]})
    check(browser, patch='{"n": 1, "m": 2}')
    form = {**browser.page.form(AMEND), "step": "go", "why": "m", "total": "2"}
    browser.post(AMEND, form)  # the form holds the last of the two alone
    browser.follow()
    said = browser.page.one("div", role="alert").text
    assert "no longer those that were counted" in said, "another number than was counted"
    work_off(world)
    assert alice.claim() == []


def test_an_operator_is_not_shown_what_is_redacted_and_still_amends(
    world: World, alice: Caller, bob: Caller
) -> None:
    boss = world.service("acme", "boss", ["tenant:agents:write"])
    changed = boss.call("PATCH", "admin/tenant", json={"redacted_paths": ["/n"]})
    assert changed.status_code == 200, changed.text
    poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get(f"{AMEND}?all=yes")
    check(browser, patch='{"n": 734455}')
    assert browser.answer.status_code == 403
    said = browser.page.one("div", role="alert").text
    assert "It would write /n" in said
    assert "takes the role tenant admin" in said
    assert browser.page.form(AMEND)["patch"] == '{"n": 734455}'
    assert actions(world)[-1] == ("request.refuse", "refused")
    check(browser, patch='{"m": 2}')
    assert changes(browser) == ['+ "m": 2']
    boss.call("PATCH", "admin/tenant", json={"redacted_paths": ["/m"]})
    browser.send(AMEND, step="go", why="a rule came meanwhile")
    browser.follow()
    assert (browser.answer.status_code, "It would write /m" in browser.page.text) == (403, True)
    assert actions(world)[-1] == ("request.refuse", "refused")


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.TENANT_ADMIN])
def test_wu_039_what_lies_in_another_tenants_quarantine_is_not_amended(
    world: World, alice: Caller, bob: Caller, role: Role
) -> None:
    ids = poison(alice, bob, "x")
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=role)
    form = {"csrf": rival.token(), "patch": PATCH, "why": "mine", "way": "now", "total": "1"}
    for step in ("check", "go"):
        rival.post(AMEND, {**form, "step": step, "event": ids[0]})
        rival.follow()
        assert rival.answer.status_code in (404, 422)
        assert ids[0] not in rival.page.text
    work_off(world)
    assert alice.claim() == []


def test_what_would_go_is_counted_without_what_is_left_out(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "x", "y")
    bob.publish(alice, payload={"n": 2})
    settle(alice, "reject", reason="z")
    work = rejected_work(world, alice)
    browser = signed_in(world)
    browser.get(f"{AMEND}?all=yes")
    check(browser, patch='{"n": 2}')
    told = sums(browser)
    assert told["match"] == "4"
    assert told["would be amended"] == "2"
    left = "left out: it belongs to an assignment: redrive it or reassign the assignment"
    assert told[left] == "1"
    assert "alice 2" in browser.page.all("p", **{"class": "split"})[0].text
    (go,) = [one for one in browser.page.buttons() if one.startswith("Amend 1")]
    assert go == "Amend 1, then 1Amend 2 events"
    check_made(browser.page)
    browser.get(f"/events/{work}")
    assert not [one for one in browser.page.buttons() if one.startswith("Amend")]
    form = {"csrf": browser.token(), "step": "check", "payload": "{}"}
    answer = browser.post(f"/events/{work}/amend", form)
    assert (answer.status_code, "reassign the assignment" in answer.text) == (409, True)


def test_what_would_run_late_is_amended_when_that_is_ticked(
    world: World, alice: Caller, bob: Caller
) -> None:
    (late,), _ = (bob.publish(alice, ordering_key="k") for _ in range(2))
    for verb, more in (("reject", {"reason": "x"}), ("ack", {})):
        settle(alice, verb, **more)
    browser = signed_in(world)
    browser.get(f"{AMEND}?all=yes")
    check(browser, patch=PATCH)
    assert sums(browser)["would be amended"] == "0"
    assert sums(browser)["left out: a later event of the same key is already settled"] == "1"
    check(browser, force="yes")
    assert sums(browser)["would be amended"] == "1"
    assert "checked" in browser.page.one("input", name="force").attributes
    browser.send(AMEND, step="go", why="w")  # no longer ticked
    browser.follow()
    assert "changed since" in browser.page.one("div", role="alert").text
    path = f"/events/{late['event_id']}/amend"
    browser.get(f"/events/{late['event_id']}")
    browser.send(path)
    browser.send(path, step="check", payload='{"n": 2}')
    browser.send(path, step="go", why="w")
    assert (browser.answer.status_code, "It would run late" in browser.page.text) == (422, True)
    browser.send(path, step="go", why="w", force="yes")
    assert browser.answer.headers["Location"].startswith("/quarantine/jobs/job_")
    work_off(world)
    assert alice.claim()[0]["corrects"] == late["event_id"]

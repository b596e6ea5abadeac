"""Amending many in the console: a patch, what it would do, one of them before and after, a reason, a job."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import Browser, actions, audited, signed_in
from tests.console.test_quarantine_page import sums
from tests.console.well_made import check_light, check_made
from tests.http.test_triage import poison, work_off
from tests.http.world import Caller, World

AMEND = "/quarantine/amend"
PATCH = '{"currency": "EUR"}'


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
    (link,) = [a for a in browser.page.all("a") if a.text == "Amend…"]
    browser.get(link.attributes["href"])
    assert browser.heading == "Amend 2 events"
    check_made(browser.page)
    check_light(browser.page)
    browser.send(AMEND, patch=PATCH, step="check")
    assert sums(browser) == {"match": "2", "would be amended": "2"}
    assert changes(browser) == ['- "n": 1', '+ "n": 1,', '+ "currency": "EUR"']
    assert ("payload.read", "done") in actions(world)
    check_made(browser.page)
    browser.send(AMEND, step="go", why=" ")
    assert browser.answer.status_code == 422
    browser.send(AMEND, step="go", why="it is always euros", patch='{"currency": "USD"}')
    assert browser.answer.status_code == 422
    assert "changed since it was checked" in browser.page.text
    browser.send(AMEND, step="check", patch=PATCH)
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
    assert "Amend…" in browser.page.buttons()
    browser.get(AMEND, query_string={"event": ids[:2]})
    browser.send(AMEND, patch='{"n": 1}', step="check")
    assert browser.page.all("ol", **{"class": "diff"}) == []
    assert sums(browser)["would be amended"] == "0"
    assert "Amend 2 events" not in browser.page.buttons()
    for wrong in ("[1]", "{", '"x"'):
        browser.send(AMEND, patch=wrong, step="check")
        assert browser.answer.status_code == 422
        assert "column 1" in browser.page.one("div", role="alert").text or wrong == "{"
    browser.get(AMEND, query_string={"event": ids[:2]})
    browser.send(AMEND, patch='{"n": 1, "m": 2}', step="check")
    form = {**browser.page.form(AMEND), "step": "go", "why": "m", "total": "2"}
    browser.post(AMEND, form)  # the form holds the last of the two alone
    assert browser.answer.status_code == 409  # another number than was counted
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
    browser.get(AMEND)
    browser.send(AMEND, patch='{"n": 734455}', step="check")
    assert "kept from you" in browser.page.text
    browser.send(AMEND, patch='{"m": 2}', step="check")
    assert changes(browser) == ['- "n": [redacted: /n]', '+ "n": [redacted: /n],', '+ "m": 2']


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
        assert rival.answer.status_code in (404, 422)
        assert ids[0] not in rival.answer.text
    work_off(world)
    assert alice.claim() == []

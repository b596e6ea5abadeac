"""What quarantine is told in: causes by their words, errors cut, no form for nothing, one red button."""

from __future__ import annotations

import pytest

from tests.console.browsing import signed_in
from tests.console.test_quarantine_page import DISCARD, REDRIVE, links
from tests.http.test_triage import poison, work_off
from tests.http.world import Caller, World


def test_a_dry_run_names_the_cause_and_the_first_as_people_know_them(
    world: World, alice: Caller, bob: Caller
) -> None:
    ids = poison(alice, bob, "E_SCHEMA: no field", "E_SCHEMA: no field", "else")
    sequence = alice.get(f"A/inbox/{ids[0]}").json["sequence_number"]
    browser = signed_in(world)
    browser.get("/quarantine")
    for action in (REDRIVE, DISCARD):
        browser.get(links(browser, action)[0])
        head = browser.page.all("div", **{"class": "head"})[0]
        assert "no field" in head.text
        assert "type note" in head.text
        assert "what failed up to" in head.text
        cause = browser.page.form(action)["cause"]
        assert cause not in browser.page.text
        if action == REDRIVE:
            (first,) = [a for a in browser.page.all("a") if a.attributes["href"].endswith(ids[0])]
            assert first.text == f"alice {sequence}"
        browser.get("/quarantine")


@pytest.mark.parametrize("action", [REDRIVE, DISCARD])
def test_of_nothing_there_is_no_form(world: World, action: str) -> None:
    """A cause that is absent, or another tenant's, is as one that never was."""
    browser = signed_in(world)
    for query, status in ((f"?cause={'0' * 32}", 404), ("?cause=x", 404), ("?all=yes", 200)):
        assert browser.get(f"{action}{query}").status_code == status
        said = "Quarantine is empty" if status == 200 else "Nothing of it lies in quarantine"
        assert browser.heading == said
        assert browser.page.all("form", action=action) == []


def test_lists_cut_an_error_and_have_no_red_buttons(
    world: World, alice: Caller, bob: Caller
) -> None:
    """Red opens a discard where it is the one; the whole error is in the title."""
    error = "E_LONG: " + "word " * 80 + "end"
    poison(alice, bob, error, "else")
    browser, causes = signed_in(world), [""]
    for path, red in (("/quarantine", 0), ("/quarantine/events", 0), (None, 1)):
        browser.get(path or causes[0])
        if path == "/quarantine":
            causes = links(browser, "/quarantine/causes/")
            titles = [one.attributes.get("title", "") for one in browser.page.all("a")]
            assert any(title.endswith("end") for title in titles)
        tags = [one for tag in ("a", "button") for one in browser.page.one("main").all(tag)]
        assert sum("danger" in one.attributes.get("class", "") for one in tags) == red, path
        if path == "/quarantine/events":
            cells = browser.page.all("td", **{"class": "cut error"})
            assert any(one.attributes["title"].endswith("end") for one in cells)


def test_what_a_running_job_will_take_is_said_wherever_more_could_be_done_to_it(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "E_SCHEMA: no field", "E_SCHEMA: no field", "E_SCHEMA: no field", "else")
    browser = signed_in(world)
    browser.get("/quarantine")
    orders = [links(browser, REDRIVE)[0], f"{DISCARD}?all=yes", "/quarantine/amend?all=yes"]
    rest = links(browser, DISCARD)[1]
    cause = links(browser, "/quarantine/causes/")[0]
    browser.get(orders[0])
    assert "still to do" not in browser.page.text
    browser.send(REDRIVE, why="mended", way="slow")
    job = browser.answer.headers["Location"]
    work_off(world)
    for address in (*orders, cause):
        browser.get(address)
        note = browser.page.one("div", **{"class": "note amber"})
        assert "A running redrive of 3 has 2 of these still to do." in note.text
        assert links(browser, "/quarantine/jobs/") == [job]
    browser.get(rest)
    assert browser.page.all("div", **{"class": "note amber"}) == []
    browser.get("/quarantine")
    assert "Redrive of 3 events: E_SCHEMA" in browser.page.one("div", id="running").text
    assert "2 in the redrive started" in browser.page.one("div", id="causes").text
    assert links(browser, job) == [job, f"{job}#stop", job]
    browser.get(job)
    assert "What is left by cause E_SCHEMA no field 2" in browser.page.one("main").text

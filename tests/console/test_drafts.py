"""What was typed stays: when it is counted anew, when one turns to another verb, when one comes back."""

from __future__ import annotations

import pytest

from restante.identity.drafts import LIFE, MOST, Draft, keep_draft, read_draft
from restante.identity.sessions import resume_session
from tests.console.browsing import Browser, signed_in
from tests.console.test_patch_page import AMEND, PATCH, changes, check
from tests.console.test_quarantine_page import sums
from tests.console.well_made import check_made
from tests.http.test_triage import poison
from tests.http.world import Caller, World

REDRIVE, DISCARD = "/quarantine/redrive", "/quarantine/discard"


def turns(browser: Browser, action: str, to: str, **typed: str) -> None:
    browser.send(action, to=to, **typed)
    assert browser.answer.status_code == 303
    assert browser.follow().status_code == 200


def test_a_patch_and_its_reason_stay_when_it_is_counted_again(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get(f"{AMEND}?inbox=alice")
    check(browser, patch=PATCH)
    assert sums(browser)["matches"] == "1"
    poison(alice, bob, "y")
    assert "count again" in browser.page.buttons()
    turns(browser, AMEND, "amend", patch=PATCH, why="it is euros", way="slow")
    assert sums(browser)["match"] == "2"
    form = browser.page.form(AMEND)
    kept = {name: form[name] for name in ("patch", "why", "way", "inbox")}
    assert kept == {"patch": PATCH, "why": "it is euros", "way": "slow", "inbox": "alice"}
    check_made(browser.page)
    browser.send(AMEND, step="go")
    assert browser.answer.headers["Location"].startswith("/quarantine/jobs/job_")


def test_the_reason_and_the_patch_stay_over_redrive_amend_and_discard(
    world: World, alice: Caller, bob: Caller
) -> None:
    (event, *_) = poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get(f"{REDRIVE}?event={event}")
    check_made(browser.page)
    turns(browser, REDRIVE, "amend", why="mended", way="now")
    assert browser.heading == "Amend 1 event"
    check(browser, patch=PATCH)
    assert (browser.page.form(AMEND)["why"], changes(browser)[-1]) == (
        "mended",
        '+ "currency": "EUR"',
    )
    turns(browser, AMEND, "discard", why="hopeless")
    assert browser.heading == "Discard 1 event"
    assert browser.page.form(DISCARD)["why"] == "hopeless"
    turns(browser, DISCARD, "redrive")
    form = browser.page.form(REDRIVE)
    assert (form["why"], form["way"], form["event"]) == ("hopeless", "now", event)
    turns(browser, REDRIVE, "amend")
    assert browser.page.form(AMEND)["patch"] == PATCH
    assert "Amend 1 event" not in browser.page.buttons(), "it is checked first"


def test_what_was_checked_is_at_an_address_that_asks_for_no_form_again(
    world: World, alice: Caller, bob: Caller
) -> None:
    poison(alice, bob, "x", "y")
    browser = signed_in(world)
    browser.get(f"{AMEND}?all=yes")
    browser.send(AMEND, patch=PATCH, step="check")
    there = browser.answer.headers["Location"]
    assert "EUR" not in there
    browser.follow()
    assert sums(browser)["would be amended"] == "2"
    poison(alice, bob, "z")
    browser.get("/quarantine")
    browser.get(there)  # back
    assert sums(browser)["would be amended"] == "2", "those that were counted"
    assert browser.page.form(AMEND)["patch"] == PATCH
    other = signed_in(world, email="b@example.com")
    other.get(there)
    assert other.page.form(AMEND)["patch"] == "{\n  \n}", "of the session that typed it alone"
    for bogus in ("x", "00", "é", "0" * 32):
        browser.get(f"{AMEND}?all=yes&draft={bogus}")
        assert browser.answer.status_code == 200
        assert browser.page.form(AMEND)["patch"] == "{\n  \n}"
    world.pass_time(LIFE.total_seconds() - 60)
    browser.get("/account")  # used meanwhile
    world.pass_time(61)
    browser.get(there)
    assert browser.page.form(AMEND)["patch"] == "{\n  \n}"


@pytest.mark.parametrize("to", ["", "x", "cancel", "../sign-out"])
def test_there_are_three_to_turn_to(world: World, alice: Caller, bob: Caller, to: str) -> None:
    poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get(f"{DISCARD}?all=yes")
    browser.send(DISCARD, to=to, why="w")
    browser.follow()
    said = browser.page.one("div", role="alert").text
    assert "not the number" in said, "it is a form to carry out, without its number"


def test_a_session_keeps_no_more_than_some(world: World) -> None:
    browser = signed_in(world)
    token = browser.cookie() or ""
    database = world.house.database

    def kept(number: int) -> str:
        who = database.run(lambda s: resume_session(s, token))
        assert who is not None
        draft = Draft("/x", None, (("why", str(number)),))
        return database.run(lambda s: keep_draft(s, who, draft))

    ids = [kept(number) for number in range(MOST + 1)]
    who = database.run(lambda s: resume_session(s, token))
    assert who is not None
    found = database.run(lambda s: [read_draft(s, who, one) for one in ids])
    assert [one and one.fields for one in found] == [
        None,
        *(((("why", str(number)),)) for number in range(1, MOST + 1)),
    ]

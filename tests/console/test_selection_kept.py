"""Which events an order of quarantine is about outlives all that happens to its page; all has to be said."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest

from restante.identity.operators import Operator
from restante.identity.sessions import IDLE
from tests.console.browsing import Browser, operator_of, signed_in
from tests.console.test_patch_page import PATCH, check
from tests.http.test_triage import poison
from tests.http.world import Caller, World

REDRIVE, AMEND, DISCARD = (f"/quarantine/{what}" for what in ("redrive", "amend", "discard"))
ACTIONS = [REDRIVE, AMEND, DISCARD]


@pytest.fixture
def who(world: World) -> Operator:
    return operator_of(world)


@pytest.fixture
def ids(alice: Caller, bob: Caller) -> list[str]:
    """Three that lie there, each of its own cause."""
    return [str(one) for one in poison(alice, bob, "x", "y", "z")]


@pytest.fixture
def browser(world: World, who: Operator, ids: list[str]) -> Browser:
    return signed_in(world, who)


def signs_in_again(browser: Browser, who: Operator) -> None:
    """By way of the page that a session that is over leads to, and on to where that goes."""
    assert browser.answer.headers["Location"].startswith("/sign-in")
    browser.follow()
    browser.signs_in(who)
    browser.follow()


def which(browser: Browser, action: str) -> list[str]:
    """The events that the form of the page is about."""
    form = next(one for one in browser.page.all("form", action=action))
    return [one.attributes["value"] for one in form.all("input", name="event")]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize(
    "query", ["", "?draft=x", f"?draft={'0' * 32}", "?inbox=", "?counted=2031-05-01"]
)
def test_an_address_that_says_nothing_chooses_nothing(
    browser: Browser, action: str, query: str
) -> None:
    assert browser.get(f"{action}{query}").status_code == 422
    assert browser.heading == "Which events?"
    assert browser.page.all("form", action=action) == []
    browser.get(f"{action}?all=yes")
    assert browser.heading.endswith(" 3 events")


@pytest.mark.parametrize("action", ACTIONS)
def test_a_form_that_says_nothing_does_nothing(browser: Browser, action: str) -> None:
    form = {"csrf": browser.token(), "why": "w", "total": "3", "matched": "3", "typed": "3"}
    for more in ({}, {"step": "check"}, {"why": ""}, {"to": "discard"}):
        assert browser.post(action, {**form, **more}).status_code == 422
        assert browser.heading == "Which events?"


@pytest.mark.parametrize(("action", "typed"), [(REDRIVE, {"why": ""}), (DISCARD, {"typed": "7"})])
def test_a_refusal_is_at_an_address_of_the_same_events(
    browser: Browser, ids: list[str], action: str, typed: dict[str, str]
) -> None:
    browser.get(f"{action}?event={ids[0]}")
    browser.send(action, **{"why": "kept", **typed})
    there = browser.answer.headers["Location"]
    for _ in range(2):  # as it is shown, and loaded again
        assert browser.get(there).status_code == 200
        assert which(browser, action) == ids[:1]
        assert "Nothing was done" in browser.page.one("div", role="alert").text
    assert browser.page.form(action)["why"] == typed.get("why", "kept")
    answer = browser.send("/theme", theme="dark")
    assert answer.headers["Location"] == there


def test_a_patch_that_is_broken_is_at_an_address_of_the_same_events(
    browser: Browser, ids: list[str]
) -> None:
    browser.get(f"{AMEND}?event={ids[0]}")
    check(browser, patch="{")
    assert browser.answer.status_code == 422
    assert which(browser, AMEND) == ids[:1]
    browser.send("/theme", theme="dark")
    browser.follow()
    assert (which(browser, AMEND), browser.page.form(AMEND)["patch"]) == (ids[:1], "{")


def test_a_set_that_changed_is_counted_anew_within_the_same_cause(
    browser: Browser, world: World
) -> None:
    browser.get("/quarantine")
    path = next(
        a.attributes["href"] for a in browser.page.all("a") if REDRIVE in a.attributes["href"]
    )
    browser.get(path)
    browser.send(REDRIVE, why="late", total="9")
    browser.follow()
    assert browser.heading == "Redrive 1 event"
    assert browser.page.form(REDRIVE)["why"] == "late"


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("picked", [1, 3])
def test_a_session_that_ran_out_leaves_the_events_and_what_was_typed(
    browser: Browser, world: World, who: Operator, ids: list[str], action: str, picked: int
) -> None:
    browser.get(action, query_string={"event": ids[:picked]})
    sent = {**browser.page.form(action), "why": "as agreed", "patch": PATCH, "typed": str(picked)}
    world.pass_time(IDLE.total_seconds() + 1)
    browser.post(action, {**sent, "event": ids[:picked]})  # type: ignore[dict-item]  # one for each
    wanted = parse_qs(urlsplit(browser.answer.headers["Location"]).query)["next"][0]
    signs_in_again(browser, who)
    assert browser.answer.status_code == 200
    assert which(browser, action) == ids[:picked]
    form = browser.page.form(action)
    assert (form.get("why"), form.get("patch")) == ("as agreed", PATCH)
    other = signed_in(world, email="b@example.com")
    assert other.get(wanted).status_code == 422, "another operator's"


def test_a_long_address_outlives_the_session_too(
    browser: Browser, world: World, who: Operator, ids: list[str], alice: Caller, bob: Caller
) -> None:
    given = {"event": [*ids, *poison(alice, bob, "u", "v")]}
    world.pass_time(IDLE.total_seconds() + 1)
    browser.get(REDRIVE, query_string=given)
    signs_in_again(browser, who)
    assert which(browser, REDRIVE) == given["event"]


@pytest.mark.parametrize(
    "wrong",
    ["inbx=alice", "inbox=alice&inbox=bob", "inbox=alice&reason=x", "inbox=alice&all=no", "all=x"],
)
@pytest.mark.parametrize("action", ACTIONS)
def test_what_an_address_says_in_vain_is_told(browser: Browser, action: str, wrong: str) -> None:
    assert browser.get(f"{action}?{wrong}").status_code == 422
    assert browser.heading == "Not understood"
    assert "Nothing was done" in browser.page.text


@pytest.mark.parametrize("action", ACTIONS)
def test_an_instant_in_an_address_narrows(browser: Browser, ids: list[str], action: str) -> None:
    browser.get(f"{action}?until=2020-01-01")
    assert browser.heading == "Nothing of it lies in quarantine"
    browser.get(f"{action}?until=2035-01-01")
    assert browser.heading.endswith(" 3 events")
    assert browser.page.form(action)["until"] == "2035-01-01"
    assert browser.get(f"{action}?event={ids[0]}&until=2020-01-01").status_code == 422

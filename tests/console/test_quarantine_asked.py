"""Quarantine in the console: nothing ticked, filters that mean nothing, a reason that outlives a count."""

from __future__ import annotations

import pytest

from restante.identity.roles import Role
from tests.console.browsing import audited, signed_in
from tests.http.test_triage import poison
from tests.http.world import Caller, World

REDRIVE, AMEND, DISCARD = (f"/quarantine/{what}" for what in ("redrive", "amend", "discard"))


@pytest.mark.parametrize("action", [REDRIVE, AMEND, DISCARD])
def test_with_nothing_ticked_there_is_nothing_to_act_on(
    world: World, alice: Caller, bob: Caller, action: str
) -> None:
    ids = poison(alice, bob, "x", "y")
    browser = signed_in(world)
    browser.get("/quarantine/events?inbox=alice&hours=24")
    form = browser.page.form(REDRIVE)
    sent = {name: text for name, text in form.items() if name != "event"}
    assert browser.get(action, query_string=sent).status_code == 422
    assert browser.heading == "Nothing is ticked"
    (back,) = [a for a in browser.page.all("a") if a.text == "Back to the list"]
    assert back.attributes["href"] == "/quarantine/events?inbox=alice&hours=24"
    assert browser.get(action, query_string={**sent, "event": ids[:1]}).status_code == 200
    assert " 1 event" in browser.heading


@pytest.mark.parametrize("wrong", ["until=bogus", "since=bogus", "hours=5"])
def test_a_filter_that_means_nothing_is_told_and_nothing_is_shown_or_done(
    world: World, alice: Caller, bob: Caller, wrong: str
) -> None:
    (event,) = poison(alice, bob, "x")
    browser = signed_in(world)
    name, _, value = wrong.partition("=")
    for path in ("/quarantine", "/quarantine/events"):
        assert browser.get(f"{path}?{wrong}").status_code == 200
        said = browser.page.one("div", role="alert").text
        assert said.startswith(f"{name.capitalize()}: ")
        assert said.endswith("Nothing is shown. Clear")
        assert "Quarantine is empty" not in browser.page.text
        shown = [a for a in browser.page.all("a") if event in a.attributes["href"]]
        assert shown == browser.page.all("ol", **{"class": "panel causes"}) == []
    for action in (REDRIVE, AMEND, DISCARD, f"/quarantine/causes/{'0' * 32}"):
        assert browser.get(f"{action}?{wrong}").status_code == 422, action
        assert f"{name.capitalize()}: " in browser.page.text
    form = {"csrf": browser.token(), "why": "w", "total": "1", "matched": "1", name: value}
    assert browser.post(REDRIVE, form).status_code == 422
    assert alice.get(f"A/inbox/{event}").json["status"] == "quarantined"


@pytest.mark.parametrize("action", [REDRIVE, DISCARD])
def test_who_counts_again_keeps_the_reason(
    world: World, alice: Caller, bob: Caller, action: str
) -> None:
    poison(alice, bob, "x")
    browser = signed_in(world)
    browser.get(f"{action}?inbox=alice")
    poison(alice, bob, "y")
    assert "count again" in browser.page.buttons()
    browser.send(action, to=action.rpartition("/")[2], why="as agreed")
    assert browser.answer.status_code == 303
    assert browser.follow().status_code == 200
    assert " 2 events" in browser.heading
    assert browser.page.form(action)["why"] == "as agreed"


def test_what_is_refused_is_told_whole_in_the_audit(world: World) -> None:
    reader = signed_in(world, role=Role.OPERATOR)
    path = f"/callbacks/cb_{'0' * 32}/secret"
    assert reader.post(path, {"csrf": reader.token()}).status_code == 403
    reason = audited(world)[-1].reason or ""
    assert path in reason
    assert "[removed]" not in reason
    assert "approve" in reason

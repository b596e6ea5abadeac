"""Callbacks in the console: what their state and the way to reject one say."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.callbacks import callback
from tests.console.browsing import signed_in
from tests.console.hooked import Hooked, hooked_in
from tests.http.callbacks import registered
from tests.http.world import World, verbs


@pytest.fixture
def hooked(world: World) -> Hooked:
    return hooked_in(world)


def test_one_that_fails_says_so_wherever_its_state_stands(hooked: Hooked) -> None:
    one = registered(hooked.agent)
    hooked.does(one, "approve")
    raw = decode_id(Prefix.CALLBACK, one)
    failing = update(callback).where(callback.c.callback_id == raw).values(failures=6)
    for said, change in ((False, None), (True, failing)):
        if change is not None:
            hooked.world.house.database.run(lambda s, c=change: s.connection().execute(c))
        for path in ("/callbacks", f"/callbacks/{one}"):
            hooked.admin.get(path)
            look = "state away" if said else "state completed"
            state = hooked.admin.page.all("span", **{"class": look})[0]
            assert state.text == ("active, 6 failing" if said else "active")


def test_rejecting_is_two_steps_and_says_what_it_ends(hooked: Hooked) -> None:
    hooked.page(registered(hooked.agent))
    more = hooked.admin.page.one("div", id="decision").one("details")
    assert "open" not in more.attributes
    assert more.one("summary").text == "Reject…"
    assert "no operator can undo that" in more.text
    assert more.buttons() == ["Reject this callback"]
    assert "Reject" not in hooked.admin.page.buttons()


def test_who_may_not_approve_is_not_told_to(hooked: Hooked, world: World) -> None:
    registered(hooked.agent)
    for browser, told in (
        (hooked.admin, True),
        (signed_in(world, email="other@example.com"), False),
    ):
        browser.get("/overview")
        rail = browser.page.one("nav", **{"aria-label": "Console"})
        assert ("to approve" in rail.text) is told
        assert ("waits for approval" in browser.page.text) is told
        browser.get("/callbacks")
        assert "Waits for approval" in browser.page.text


def test_who_is_called_is_not_away(hooked: Hooked, world: World) -> None:
    one = registered(hooked.agent)
    hooked.does(one, "approve")
    world.agent("acme", "bob", verbs("main", "publish")).publish(hooked.agent)
    hooked.admin.get(f"/inboxes/{hooked.agent.id}")
    assert hooked.admin.page.one("h1").text.split() == ["classifier", "callback"]
    hooked.admin.get("/inboxes?state=away")
    assert "classifier" not in hooked.admin.page.one("main").text
    hooked.admin.get("/overview")
    assert "is away with mail waiting" not in hooked.admin.page.text

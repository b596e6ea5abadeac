"""Rooms in the console: who has read how far, and what was posted only when it is asked for."""

from __future__ import annotations

from restante.identity.roles import Role
from tests.console.browsing import actions, audited, signed_in
from tests.console.test_web_ui_text import ATTACKS
from tests.console.well_made import check_light, check_made
from tests.http.world import Caller, World, unknown_id


def room_of(*members: Caller, name: str = "standup") -> str:
    by = members[0]
    answer = by.post("rooms", {"project": "main", "name": name, "members": [m.id for m in members]})
    assert answer.status_code == 201, answer.text
    made: str = answer.json["room_id"]
    return made


def test_rooms_tell_who_has_read_how_far(world: World, alice: Caller, bob: Caller) -> None:
    browser = signed_in(world)
    browser.get("/rooms")
    assert "No rooms yet" in browser.page.text
    room = room_of(alice, bob)
    room_of(bob, name="other")
    for number in range(3):
        alice.post(f"rooms/{room}/posts", {"content": {"n": number}})
    assert bob.get(f"rooms/{room}/posts?after=2").status_code == 200
    browser.get("/rooms")
    told = [[c.text for c in row.all("td")] for row in browser.page.all("tr")[1:]]
    assert [one.text for one in browser.page.all("th", scope="row")] == ["other", "standup"]
    assert told[1][:3] == ["main", "2", "3 posts"]
    answer = browser.get("/search", query_string={"q": room})
    assert answer.headers["Location"] == f"/rooms/{room}"
    browser.get(f"/rooms/{room}")
    check_made(browser.page)
    check_light(browser.page)
    readers = browser.page.one("ul", **{"class": "readers"}).all("li")
    assert [one.text for one in readers] == ["alice has read none", "bob read to 2 of 3"]


def test_what_was_posted_is_shown_when_it_is_asked_for_and_audited(
    world: World, alice: Caller, bob: Caller
) -> None:
    room = room_of(alice, bob)
    for number in range(25):
        assert alice.post(f"rooms/{room}/posts", {"content": f"secret {number}"}).status_code == 201
    browser = signed_in(world)
    browser.get(f"/rooms/{room}")
    assert "secret" not in browser.answer.text
    assert ("payload.read", "done") not in actions(world)
    form = f"/rooms/{room}/posts#posts"
    browser.send(form)
    said = [one.raw for one in browser.page.all("pre", **{"class": "said"})]
    assert said == [f'"secret {n}"' for n in range(24, 4, -1)]
    entry = audited(world)[-1]
    assert (entry.action, entry.target, entry.reason) == ("payload.read", room, "posts 6 to 25")
    browser.send(form)
    assert [one.raw for one in browser.page.all("pre", **{"class": "said"})][-1] == '"secret 0"'
    browser.get(f"/rooms/{room}?before=3")
    assert len(browser.page.one("ol", **{"class": "posts"}).all("li")) == 2
    assert browser.get(f"/rooms/{room}?before=x").status_code == 200


def test_wu_027_what_others_wrote_is_text(world: World, alice: Caller, bob: Caller) -> None:
    room = room_of(alice, bob, name=ATTACKS[0][:100])
    for text in ATTACKS:
        assert alice.post(f"rooms/{room}/posts", {"content": text}).status_code == 201
    browser = signed_in(world)
    browser.get(f"/rooms/{room}")
    before = {one.tag for one in browser.page}
    browser.send(f"/rooms/{room}/posts#posts")
    assert {one.tag for one in browser.page} - before <= {"pre", "bdi"}
    assert len(browser.page.all("pre", **{"class": "said"})) == len(ATTACKS)


def test_wu_039_rooms_of_others_are_as_those_that_never_were(
    world: World, alice: Caller, bob: Caller
) -> None:
    room = room_of(alice, bob)
    alice.post(f"rooms/{room}/posts", {"content": "mine"})
    world.tenant("rival", "main")
    rival = signed_in(world, tenant="rival", email="r@example.com", role=Role.TENANT_ADMIN)
    rival.get("/rooms")
    assert "No rooms yet" in rival.page.text
    form = {"csrf": rival.token()}
    for named in (room, unknown_id("room"), "x"):
        assert rival.get("/search", query_string={"q": named}).status_code == 404
        assert rival.get(f"/rooms/{named}").status_code == 404
        assert rival.post(f"/rooms/{named}/posts", form).status_code == 404
    assert ("payload.read", "done") not in actions(world)

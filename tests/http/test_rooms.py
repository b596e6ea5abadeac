"""Rooms through the API (contract 6.2)."""

from __future__ import annotations

from typing import Any

import pytest

from restante.coordination.restored import restore_rooms
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.identity import granted_scope
from tests.factories import set_rules
from tests.http.world import Caller, World, unknown_id, verbs
from workers.pruner import Pruner


@pytest.fixture
def carol(world: World) -> Caller:
    """A third agent of acme with every verb in main."""
    return world.agent("acme", "carol", verbs("main"))


def make_room(by: Caller, *members: Caller, **said: Any) -> dict[str, Any]:
    body = {"project": "main", "name": "release", "members": [m.id for m in members], **said}
    answer = by.post("rooms", body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json
    return made


def post(by: Caller, room: dict[str, Any], content: Any = "hello") -> dict[str, Any]:
    answer = by.post(f"rooms/{room['room_id']}/posts", {"content": content})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json
    return made


def test_a_post_reaches_every_member_but_its_author(
    alice: Caller, bob: Caller, carol: Caller
) -> None:
    room = make_room(alice, alice, bob, carol)
    assert room["members"] == [alice.id, bob.id, carol.id]
    said = post(alice, room, "the build is green")
    assert (said["number"], said["author"]) == (1, alice.id)
    for member in (bob, carol):
        (event,) = member.claim()
        assert event["type"] == "meeting_room_post"
        assert event["payload"] == {
            "type": "meeting_room_post",
            "room_id": room["room_id"],
            "post_id": said["post_id"],
            "author": alice.id,
            "content": "the build is green",
        }
    assert alice.claim() == []


def test_posts_are_numbered_and_read_after_a_number(alice: Caller, bob: Caller) -> None:
    room = make_room(alice, bob)
    for n in range(3):
        post(alice if n % 2 else bob, room, {"n": n})
    path = f"rooms/{room['room_id']}/posts"
    first = alice.get(f"{path}?limit=2").json
    assert ([p["number"] for p in first["posts"]], first["has_more"]) == ([1, 2], True)
    rest = alice.get(f"{path}?after=2").json
    assert ([p["content"] for p in rest["posts"]], rest["has_more"]) == ([{"n": 2}], False)
    assert alice.get(f"{path}?after=3").json == {"posts": [], "has_more": False}


def test_after_a_restored_backup_no_number_comes_again(
    world: World, alice: Caller, bob: Caller
) -> None:
    room = make_room(alice, bob)
    kept = post(alice, room)
    # what bob has read up to in the time that the backup knows nothing of
    lost = kept["number"] + 3
    world.house.database.run(restore_rooms)
    again = post(alice, room)["number"]
    assert lost < again < 2**53
    told = bob.get(f"rooms/{room['room_id']}/posts?after={lost}").json
    assert [p["number"] for p in told["posts"]] == [again]
    world.house.database.run(restore_rooms)
    assert post(alice, room)["number"] > again + 1


def test_who_asks_for_more_has_read_what_came_before(alice: Caller, bob: Caller) -> None:
    room = make_room(alice, bob)
    for _ in range(2):
        post(alice, room)
    for after, read in ((1, 1), (0, 1), (2, 2), (1, 2)):
        bob.get(f"rooms/{room['room_id']}/posts?after={after}")
        told = {
            m["agent_id"]: m["read_number"]
            for m in alice.get(f"rooms/{room['room_id']}").json["read"]
        }
        assert told == {bob.id: read, alice.id: 0}


def test_nobody_has_read_what_is_not_there(alice: Caller, bob: Caller) -> None:
    room = make_room(alice, bob)
    post(alice, room)
    path = f"rooms/{room['room_id']}"
    refused = bob.get(f"{path}/posts?after=2")
    assert refused.status_code == 422
    assert [(e["pointer"], e["detail"]) for e in refused.json["errors"]] == [
        ("after", "must be at most 1: the number of the room's last post")
    ]
    assert {m["read_number"] for m in alice.get(path).json["read"]} == {0}


def test_members_come_and_go(alice: Caller, bob: Caller, carol: Caller) -> None:
    room = make_room(alice, bob)
    path = f"rooms/{room['room_id']}"
    assert carol.get(path).status_code == 404
    for _ in range(2):
        answer = bob.call("PUT", f"{path}/members/{carol.id}")
        assert answer.status_code == 200, answer.text
        assert set(answer.json["members"]) == {alice.id, bob.id, carol.id}
    post(bob, room)
    assert len(carol.claim()) == 1
    for _ in range(2):
        answer = alice.call("DELETE", f"{path}/members/{carol.id}")
        assert set(answer.json["members"]) == {alice.id, bob.id}
    post(bob, room)
    assert carol.claim() == []
    assert carol.get(path).status_code == 404


def test_whoever_is_no_member_is_told_of_no_room(
    world: World, alice: Caller, bob: Caller, carol: Caller
) -> None:
    room = make_room(alice, bob)
    world.tenant("globex", "main")
    stranger = world.agent("globex", "stranger", verbs("main"))
    for who in (carol, stranger):
        bodies = set()
        for room_id in (room["room_id"], unknown_id("room"), "room_x"):
            path = f"rooms/{room_id}"
            answers = [
                who.get(path),
                who.get(f"{path}/posts"),
                who.post(f"{path}/posts", {"content": "x"}),
                who.call("PUT", f"{path}/members/{who.id}"),
                who.call("DELETE", f"{path}/members/{bob.id}"),
            ]
            assert {a.status_code for a in answers} == {404}
            bodies |= {a.json["detail"] for a in answers}
        assert len(bodies) == 1
        assert who.get("rooms").json["rooms"] == []
    assert set(alice.get(f"rooms/{room['room_id']}").json["members"]) == {alice.id, bob.id}


def test_a_room_is_listed_for_its_members(alice: Caller, bob: Caller, carol: Caller) -> None:
    made = [make_room(alice, bob)["room_id"] for _ in range(3)]
    first = bob.get("rooms?limit=2").json
    rest = bob.get(f"rooms?page_token={first['next_page_token']}").json
    assert [r["room_id"] for r in first["rooms"] + rest["rooms"]] == made
    assert rest["next_page_token"] is None
    assert carol.get("rooms").json == {"rooms": [], "next_page_token": None}
    assert bob.get("rooms?page_token=x").json["type"] == "/problems/page-token-invalid"


def test_services_of_the_tenant_write_and_read_without_being_members(
    world: World, alice: Caller, bob: Caller
) -> None:
    service = world.service("acme", "chair", ["tenant:events:publish", "tenant:events:read"])
    room = make_room(service, alice, bob)
    assert room["members"] == [alice.id, bob.id]
    said = post(service, room)
    assert said["author"] == service.id
    assert (len(alice.claim()), len(bob.claim())) == (1, 1)
    assert len(service.get(f"rooms/{room['room_id']}/posts").json["posts"]) == 1
    assert len(service.get("rooms").json["rooms"]) == 1
    unknown = service.post("rooms", {"project": "nosuch", "name": "x", "members": []})
    assert (unknown.status_code, unknown.json["errors"][0]["pointer"]) == (422, "/project")


def test_members_are_agents_of_the_tenant_that_have_the_project(
    world: World, alice: Caller
) -> None:
    world.tenant("globex", "main")
    refused = [
        unknown_id("agt"),
        "agt_x",
        world.agent("globex", "stranger", verbs("main")).id,
        world.agent("acme", "elsewhere", verbs("other")).id,
    ]
    room = make_room(alice)
    for member in refused:
        body = {"project": "main", "name": "x", "members": [member]}
        answer = alice.post("rooms", body)
        assert (answer.status_code, answer.json["recipients"]) == (422, [member])
        assert answer.json["type"] == "/problems/recipient-refused"
        answer = alice.call("PUT", f"rooms/{room['room_id']}/members/{member}")
        assert (answer.status_code, answer.json["recipients"]) == (422, [member])
    assert len(alice.get("rooms").json["rooms"]) == 1


def test_a_member_that_lost_the_project_holds_up_nobody(
    world: World, alice: Caller, bob: Caller, carol: Caller
) -> None:
    room = make_room(alice, bob, carol)
    lost = granted_scope.delete().where(
        granted_scope.c.principal_id == decode_id(Prefix.AGENT, bob.id)
    )
    world.house.database.run(lambda s: s.connection().execute(lost))
    post(alice, room)
    assert len(carol.claim()) == 1


def test_a_project_outside_ones_scopes_is_403_and_a_token_without_the_verb_too(
    world: World, alice: Caller, bob: Caller
) -> None:
    for slug in ("other", "nosuch"):
        answer = alice.post("rooms", {"project": slug, "name": "x", "members": []})
        assert (answer.status_code, answer.json["required_scope"]) == (
            403,
            f"agent:{slug}:publish",
        )
    room = make_room(alice, bob)
    reader = world.narrowed(bob, verbs("main", "read"))
    assert reader.get(f"rooms/{room['room_id']}").status_code == 200
    assert reader.post(f"rooms/{room['room_id']}/posts", {"content": "x"}).status_code == 403
    writer = world.narrowed(bob, verbs("main", "publish"))
    assert writer.get(f"rooms/{room['room_id']}").status_code == 403


def test_a_repeat_with_the_same_key_makes_nothing_twice(alice: Caller, bob: Caller) -> None:
    body = {"project": "main", "name": "x", "members": [bob.id]}
    key = {"headers": {"Idempotency-Key": "k-1"}}
    first, again = (alice.post("rooms", body, **key) for _ in range(2))
    assert (again.status_code, again.json["room_id"]) == (201, first.json["room_id"])
    assert again.headers["Idempotency-Replayed"] == "true"
    path = f"rooms/{first.json['room_id']}/posts"
    key = {"headers": {"Idempotency-Key": "k-2"}}
    said, repeated = (alice.post(path, {"content": "x"}, **key) for _ in range(2))
    assert said.json == repeated.json
    assert len(bob.claim()) == 1


def test_posts_are_kept_for_as_long_as_events(world: World, alice: Caller, bob: Caller) -> None:
    path = f"rooms/{make_room(alice, bob)['room_id']}/posts"
    key = {"headers": {"Idempotency-Key": "k-1"}}
    old = alice.post(path, {"content": "old"}, **key).json
    set_rules(world.house.database, retention_seconds=60)
    world.pass_time(50)
    alice.post(path, {"content": "young"})
    pruner = Pruner(world.house.database)
    assert pruner.run_once()["room_post"] == 0
    world.pass_time(20)
    assert pruner.run_once()["room_post"] == 1
    assert [post["content"] for post in alice.get(path).json["posts"]] == ["young"]
    assert alice.post(path, {"content": "old"}, **key).status_code == 404
    assert alice.post(path, {"content": "new"}).json["number"] == old["number"] + 2


@pytest.mark.parametrize("content", [None, "", {}, [], 7, True])
def test_a_post_says_something(alice: Caller, bob: Caller, content: Any) -> None:
    room = make_room(alice, bob)
    answer = alice.post(f"rooms/{room['room_id']}/posts", {"content": content})
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "/content")


def test_a_post_too_large_is_refused(alice: Caller, bob: Caller) -> None:
    room = make_room(alice, bob)
    answer = alice.post(f"rooms/{room['room_id']}/posts", {"content": "x" * 300_000})
    assert (answer.status_code, answer.json["pointer"]) == (413, "/content")
    assert alice.get(f"rooms/{room['room_id']}").json["last_number"] == 0

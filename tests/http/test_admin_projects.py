"""Projects through the admin API, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.http.administration import administrator, audited, faults
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world)


def slugs(caller: Caller, query: str = "") -> list[str]:
    return [p["slug"] for p in caller.get(f"admin/projects{query}").json["projects"]]


def test_a_project_is_made_listed_and_used(world: World, admin: Caller) -> None:
    made = admin.post("admin/projects", {"slug": "mail"})
    assert made.status_code == 201, made.text
    assert made.json == {
        "project_id": made.json["project_id"],
        "slug": "mail",
        "on_quarantine": "skip",
        "unread_after_seconds": None,
        "unread_escalate_to": "operators",
        "created_at": made.json["created_at"],
    }
    assert made.json["project_id"].startswith("prj_")
    assert slugs(admin) == ["mail", "main", "other"]
    assert audited(world, by=admin) == [("project.create", made.json["project_id"], "mail")]
    agent = world.agent("acme", "late", verbs("mail"))
    agent.publish(agent, project="mail")
    assert len(agent.claim()) == 1


def test_a_slug_is_taken_once(world: World, admin: Caller) -> None:
    answer = admin.post("admin/projects", {"slug": "main"})
    assert faults(answer) == ["/slug"]
    assert "already" in answer.json["errors"][0]["detail"]
    assert audited(world, by=admin) == []
    # slugs are told apart exactly, and another tenant's are its own
    assert admin.post("admin/projects", {"slug": "Main"}).status_code == 201
    world.tenant("rival")
    assert administrator(world, "rival").post("admin/projects", {"slug": "main"}).status_code == 201


@pytest.mark.parametrize("slug", ["", "a b", "é", "a/b", "*", "x" * 65, "a\n", 7, None])
def test_what_is_no_slug(admin: Caller, slug: object) -> None:
    assert faults(admin.post("admin/projects", {"slug": slug})) == ["/slug"]
    assert slugs(admin) == ["main", "other"]


def test_a_repeated_request_makes_one_project(world: World, admin: Caller) -> None:
    def make(slug: str = "mail") -> tuple[int, dict[str, object], str | None]:
        answer = admin.post("admin/projects", {"slug": slug}, headers={"Idempotency-Key": "k"})
        return answer.status_code, answer.json, answer.headers.get("Idempotency-Replayed")

    first, again = make(), make()
    assert (first[0], again[0]) == (201, 201)
    assert first[1] == again[1]
    assert (first[2], again[2]) == (None, "true")
    assert make("more")[1]["type"] == "/problems/idempotency-key-reused"
    assert slugs(admin) == ["mail", "main", "other"]
    assert len(audited(world, by=admin)) == 1


def test_of_two_that_make_one_slug_at_once_one_does(world: World, admin: Caller) -> None:
    def make(_: int) -> int:
        client = world.app.test_client()
        one = Caller(client, admin.id, admin.secret, admin.token)
        return one.post("admin/projects", {"slug": "mail"}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, range(4))) == [201, 422, 422, 422]
    assert slugs(admin) == ["mail", "main", "other"]


def test_projects_are_listed_in_pages(world: World, admin: Caller) -> None:
    for number in range(5):
        admin.post("admin/projects", {"slug": f"p{number}"})
    world.tenant("rival", "theirs")
    found, token = [], ""
    while True:
        page = admin.get(f"admin/projects?limit=3{token}").json
        found += [p["slug"] for p in page["projects"]]
        if page["next_page_token"] is None:
            break
        token = f"&page_token={page['next_page_token']}"
    assert found == ["main", "other", "p0", "p1", "p2", "p3", "p4"]
    rival = administrator(world, "rival")
    assert slugs(rival) == ["theirs"]
    mine = admin.get("admin/projects?limit=3").json["next_page_token"]
    for caller, text in ((rival, mine), (admin, mine[:-2] + "AA"), (admin, "x"), (admin, "é")):
        answer = caller.get(f"admin/projects?page_token={text}")
        assert (answer.status_code, answer.json["type"]) == (400, "/problems/page-token-invalid")


def test_on_quarantine_is_set_and_goes_for_what_comes_after(world: World, admin: Caller) -> None:
    agent = world.agent("acme", "alice", verbs("main"))
    changed = admin.call("PATCH", "admin/projects/main", json={"on_quarantine": "hold"})
    assert changed.status_code == 200
    assert changed.json["on_quarantine"] == "hold"
    for number in (1, 2):
        agent.publish(agent, ordering_key="k", payload={"n": number})
    (first,) = agent.claim()
    agent.post(
        f"A/inbox/{first['event_id']}/reject", {"claim_generation": 1, "reason": "cannot be done"}
    )
    assert agent.claim() == []
    # what is as it was is no change
    again = admin.call("PATCH", "admin/projects/main", json={"on_quarantine": "hold"})
    assert again.json == changed.json
    project_id = changed.json["project_id"]
    assert audited(world, by=admin) == [("project.update", project_id, "main: on_quarantine hold")]
    assert [p["on_quarantine"] for p in admin.get("admin/projects").json["projects"]] == [
        "hold",
        "skip",
    ]


def test_whom_unread_mail_is_told_to(world: World, admin: Caller) -> None:
    boss = world.agent("acme", "boss", verbs("main"))
    to_boss = {"unread_after_seconds": 900, "unread_escalate_to": boss.id}
    changed = admin.call("PATCH", "admin/projects/main", json=to_boss)
    assert changed.status_code == 200, changed.text
    assert {name: changed.json[name] for name in to_boss} == to_boss
    assert changed.json["on_quarantine"] == "skip"
    assert admin.call("PATCH", "admin/projects/main", json=to_boss).json == changed.json
    back = admin.call("PATCH", "admin/projects/main", json={"unread_escalate_to": "operators"})
    assert (back.json["unread_after_seconds"], back.json["unread_escalate_to"]) == (
        900,
        "operators",
    )
    off = admin.call("PATCH", "admin/projects/main", json={"unread_after_seconds": None})
    assert off.json["unread_after_seconds"] is None
    assert [reason for _, _, reason in audited(world, by=admin)] == [
        f"main: unread_after_seconds 900, unread_escalate_to {boss.id}",
        "main: unread_escalate_to operators",
        "main: unread_after_seconds null",
    ]


def test_who_cannot_be_told_is_refused_alike(world: World, admin: Caller) -> None:
    world.tenant("rival", "main")
    foreign = world.agent("rival", "theirs", verbs("main"))
    without = world.agent("acme", "elsewhere", verbs("other"))
    for name in (foreign.id, without.id, admin.id, "agt_" + "0" * 32, "somebody"):
        answer = admin.call("PATCH", "admin/projects/main", json={"unread_escalate_to": name})
        assert (answer.status_code, answer.json["type"]) == (422, "/problems/recipient-refused")
        assert answer.json["recipients"] == [name]
    assert admin.get("admin/projects").json["projects"][0]["unread_escalate_to"] == "operators"
    assert audited(world, by=admin) == []


def test_a_project_of_others_is_changed_like_one_that_is_not_there(
    world: World, admin: Caller
) -> None:
    world.tenant("rival", "theirs")
    bodies = []
    for slug in ("theirs", "nothing", "%C3%A9", "x" * 200, "main%20", "MAIN"):
        answer = admin.call("PATCH", f"admin/projects/{slug}", json={"on_quarantine": "hold"})
        assert answer.status_code == 404, slug
        bodies.append({**answer.json, "instance": "", "request_id": ""})
    assert all(body == bodies[0] for body in bodies)
    rival = administrator(world, "rival")
    assert rival.get("admin/projects").json["projects"][0]["on_quarantine"] == "skip"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"unread_after_seconds": 0}, "/unread_after_seconds"),
        ({"unread_after_seconds": 2592001}, "/unread_after_seconds"),
        ({"unread_after_seconds": 1.5}, "/unread_after_seconds"),
        ({"unread_escalate_to": None}, "/unread_escalate_to"),
        ({"on_quarantine": "drop"}, "/on_quarantine"),
        ({"on_quarantine": None}, "/on_quarantine"),
        ({"on_quarantine": "hold", "slug": "new"}, "/slug"),
    ],
)
def test_what_a_project_cannot_be_changed_to(
    world: World, admin: Caller, body: dict[str, object], pointer: str
) -> None:
    assert faults(admin.call("PATCH", "admin/projects/main", json=body)) == [pointer]
    assert audited(world, by=admin) == []


def test_reading_takes_read_and_changing_takes_write(world: World) -> None:
    reader = administrator(world, "acme", "reader", "tenant:agents:read")
    stranger = administrator(world, "acme", "stranger", "tenant:audit:read")
    assert reader.get("admin/projects").status_code == 200
    refused = [
        reader.post("admin/projects", {"slug": "mail"}),
        reader.call("PATCH", "admin/projects/main", json={"on_quarantine": "hold"}),
        stranger.get("admin/projects"),
    ]
    assert [answer.status_code for answer in refused] == [403, 403, 403]
    assert [answer.json["required_scope"] for answer in refused] == [
        "tenant:agents:write",
        "tenant:agents:write",
        "tenant:agents:read",
    ]
    assert slugs(reader) == ["main", "other"]

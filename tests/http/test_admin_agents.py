"""Agents through the admin API, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from restante.signals.presence import write_presence
from tests.http.administration import administrator, audited, change, faults, let_states_age, step
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world)


def test_an_agent_is_made_and_works(world: World, admin: Caller) -> None:
    made = admin.post(
        "admin/agents",
        {"name": "builder", "capabilities": ["test", "build", "test"], "grants": verbs("main")},
    )
    assert made.status_code == 201, made.text
    assert made.headers["Cache-Control"] == "no-store"
    agent_id, secret = made.json["agent_id"], made.json["client_secret"]
    assert made.json == {"agent_id": agent_id, "client_id": agent_id, "client_secret": secret}
    agent = world.narrowed(Caller(world.client, agent_id, secret), verbs("main"))
    agent.publish(agent)
    assert len(agent.claim()) == 1
    shown = admin.get(f"admin/agents/{agent_id}").json
    assert shown == {
        "agent_id": agent_id,
        "name": "builder",
        "status": "active",
        "paused": False,
        "capabilities": ["build", "test"],
        "max_in_flight": None,
        "max_pending": None,
        "created_at": shown["created_at"],
        "last_seen_at": shown["last_seen_at"],
        "grants": sorted(verbs("main")),
    }
    assert [entry[:2] for entry in audited(world, by=admin)] == [
        ("agent.create", agent_id),
        ("grant.assign", agent_id),
    ]
    assert secret not in str(audited(world, by=admin))


def test_it_was_last_seen_when_it_last_called(world: World, admin: Caller, alice: Caller) -> None:
    assert admin.get(f"admin/agents/{alice.id}").json["last_seen_at"] is None
    alice.get("A/inbox")
    seen = world.house.notes.take()
    world.house.database.run(lambda s: write_presence(s, seen))
    assert admin.get(f"admin/agents/{alice.id}").json["last_seen_at"] is not None
    (listed,) = admin.get("admin/agents").json["agents"]
    assert listed["last_seen_at"] is not None


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/name"]),
        ({"name": ""}, ["/name"]),
        ({"name": " x"}, ["/name"]),
        ({"name": "agt_" + "0" * 32}, ["/name"]),
        ({"name": "alice"}, ["/name"]),
        ({"name": "a", "capabilities": ["a b"]}, ["/capabilities/0"]),
        ({"name": "a", "capabilities": [f"c{n}" for n in range(101)]}, ["/capabilities"]),
        ({"name": "a", "grants": ["agent:main:read", "agent:nope:read"]}, ["/grants/1"]),
        ({"name": "a", "grants": ["tenant:agents:write"]}, ["/grants/0"]),
        ({"name": "a", "grants": ["nonsense"]}, ["/grants/0"]),
        ({"name": "a", "status": "removed"}, ["/status"]),
    ],
)
def test_what_no_agent_can_be_made_of(
    world: World, admin: Caller, alice: Caller, body: dict[str, Any], pointers: list[str]
) -> None:
    assert faults(admin.post("admin/agents", body)) == pointers
    assert [a["name"] for a in admin.get("admin/agents").json["agents"]] == ["alice"]
    assert audited(world, by=admin) == []


def test_no_idempotency_key_where_the_answer_is_a_secret(admin: Caller) -> None:
    answer = admin.post("admin/agents", {"name": "b"}, headers={"Idempotency-Key": "k"})
    assert faults(answer) == ["Idempotency-Key"]
    assert admin.get("admin/agents").json["agents"] == []


def test_of_two_that_make_one_name_at_once_one_does(world: World, admin: Caller) -> None:
    def make(_: int) -> int:
        one = Caller(world.app.test_client(), admin.id, admin.secret, admin.token)
        return one.post("admin/agents", {"name": "builder"}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, range(4))) == [201, 422, 422, 422]
    assert len(audited(world, by=admin)) == 2


def test_agents_are_listed_in_pages_by_name(world: World, admin: Caller) -> None:
    world.tenant("rival", "main")
    world.agent("rival", "foreign", verbs("main"))
    agents = {name: world.agent("acme", name, verbs("main")) for name in ("e", "b", "d", "a", "é")}
    gone = world.agent("acme", "c", verbs("main"))
    step(admin, agents["b"], "disable")
    step(admin, gone, "remove")
    found: list[str] = []
    token = ""
    while token is not None:
        page = admin.get(f"admin/agents?limit=2{token and '&page_token=' + token}").json
        assert len(page["agents"]) <= 2
        found += [agent["name"] for agent in page["agents"]]
        token = page["next_page_token"]
    assert found == ["a", "b", "d", "e", "é"]

    def names(query: str) -> list[str]:
        return [agent["name"] for agent in admin.get(f"admin/agents?{query}").json["agents"]]

    assert names("status=disabled") == ["b"]
    assert names("status=removed") == ["c"]
    assert names("name=d") == ["d"]
    assert names("name=D") == names("name=d%20") == names("name=c") == []
    first = admin.get("admin/agents?limit=2").json["next_page_token"]
    rival = administrator(world, "rival")
    for caller, query in ((rival, ""), (admin, "&status=active"), (admin, "&name=a")):
        answer = caller.get(f"admin/agents?page_token={first}{query}")
        assert (answer.status_code, answer.json["type"]) == (400, "/problems/page-token-invalid")
    assert [a["name"] for a in rival.get("admin/agents").json["agents"]] == ["foreign"]


def test_limits_and_capabilities_are_changed(world: World, admin: Caller, alice: Caller) -> None:
    changed = change(admin, alice, max_in_flight=2, max_pending=3, capabilities=["b", "a"])
    assert changed.status_code == 200, changed.text
    assert (changed.json["max_in_flight"], changed.json["max_pending"]) == (2, 3)
    assert changed.json["capabilities"] == ["a", "b"]
    assert changed.json == admin.get(f"admin/agents/{alice.id}").json
    for _ in range(3):
        alice.publish(alice)
    let_states_age(world)
    refused = alice.post(
        "events", {"recipients": [alice.id], "project": "main", "payload": {"type": "t"}}
    )
    assert (refused.status_code, refused.json["type"]) == (429, "/problems/inbox-full")
    assert len(alice.claim()) == 2
    again = alice.post("A/inbox/claim", {}).json
    assert (again["events"], again["reason"]) == ([], "in_flight")
    # what is as it was is no change, and left out is not null
    assert change(admin, alice, max_pending=3, capabilities=None).status_code == 200
    back = change(admin, alice, max_in_flight=None, max_pending=None).json
    assert (back["max_in_flight"], back["max_pending"], back["capabilities"]) == (
        None,
        None,
        ["a", "b"],
    )
    entries = audited(world, by=admin)
    assert [entry[:2] for entry in entries] == [("agent.update", alice.id)] * 2
    assert 'capabilities ["a","b"]' in entries[0][2]
    assert "max_pending 3" in entries[0][2]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"capabilities": None}, ""),
        ({"max_in_flight": 0}, "/max_in_flight"),
        ({"max_in_flight": 1_000_001}, "/max_in_flight"),
        ({"max_pending": 0}, "/max_pending"),
        ({"max_pending": 2**31}, "/max_pending"),
        ({"max_pending": "3"}, "/max_pending"),
        ({"capabilities": [""]}, "/capabilities/0"),
        ({"name": "other"}, "/name"),
        ({"grants": []}, "/grants"),
    ],
)
def test_what_an_agent_cannot_be_changed_to(
    world: World, admin: Caller, alice: Caller, body: dict[str, Any], pointer: str
) -> None:
    before = admin.get(f"admin/agents/{alice.id}").json
    assert faults(change(admin, alice, **body)) == [pointer]
    assert admin.get(f"admin/agents/{alice.id}").json == before
    assert audited(world, by=admin) == []

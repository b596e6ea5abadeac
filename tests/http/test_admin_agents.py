"""Agents through the admin API, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from restante.identity.recent import STATE_SECONDS
from restante.signals.presence import write_presence
from restante.signals.rings import ON_RING, Ring
from restante.storage.ids import Prefix, encode_id
from tests.http.administration import administrator, audited, faults
from tests.http.world import Caller, World, open_world, unknown_id, verbs
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world)


def let_states_age(world: World) -> None:
    """As if half a second had passed for what this process knows of callers and recipients."""
    house, seconds = world.house, [STATE_SECONDS]
    real = house.authority._monotonic
    house.authority._monotonic = lambda: real() + seconds[0]
    for known in house.database.info.values():
        if hasattr(known, "clock"):
            ago = known.clock
            known.clock = lambda ago=ago: ago() + seconds[0]


def change(admin: Caller, agent: Caller, **members: Any) -> Any:
    return admin.call("PATCH", f"admin/agents/{agent.id}", json=members)


def step(admin: Caller, agent: Caller, what: str) -> Any:
    answer = admin.post(f"admin/agents/{agent.id}/{what}")
    assert answer.status_code == 200, answer.text
    return answer.json


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


def test_a_disabled_agent_is_let_in_no_more_and_its_mail_is_kept(
    world: World, admin: Caller, alice: Caller, bob: Caller
) -> None:
    bob.publish(alice)
    held = alice.claim(limit=1)[0]
    assert step(admin, alice, "disable")["status"] == "disabled"
    assert step(admin, alice, "disable")["status"] == "disabled"
    let_states_age(world)
    assert alice.get("A/inbox").status_code == 401
    settled = alice.post(f"A/inbox/{held['event_id']}/ack", {"claim_generation": 1})
    assert settled.status_code == 401
    with pytest.raises(AssertionError, match="invalid_client"):
        world.narrowed(alice, verbs("main"))
    bob.publish(alice)
    assert step(admin, alice, "enable")["status"] == "active"
    let_states_age(world)
    assert len(alice.claim()) == 1
    assert alice.post(f"A/inbox/{held['event_id']}/ack", {"claim_generation": 1}).status_code == 200
    assert audited(world, by=admin) == [
        ("agent.disable", alice.id, "alice"),
        ("agent.enable", alice.id, "alice"),
    ]


def test_a_removed_agent_stays_removed(
    world: World, admin: Caller, alice: Caller, bob: Caller
) -> None:
    (event,) = bob.publish(alice)
    assert step(admin, alice, "remove")["status"] == "removed"
    assert step(admin, alice, "remove")["grants"] == []
    let_states_age(world)
    assert alice.get("A/inbox").status_code == 401
    refused = bob.post(
        "events", {"recipients": [alice.id], "project": "main", "payload": {"type": "t"}}
    )
    assert (refused.status_code, refused.json["type"]) == (422, "/problems/recipient-refused")
    # its events are there until retention takes them
    assert bob.get(f"events/{event['event_id']}").json["status"] == "pending"
    assert admin.get(f"admin/agents/{alice.id}").json["status"] == "removed"
    path = f"admin/agents/{alice.id}"
    for answer in (
        *(admin.post(f"{path}/{what}") for what in ("enable", "disable", "pause", "resume")),
        change(admin, alice, max_pending=1),
        admin.call("PUT", f"{path}/grants", json={"grants": verbs("main")}),
        admin.post(f"{path}/credentials", {"type": "client_secret"}),
    ):
        assert (answer.status_code, answer.json["type"]) == (404, "/problems/not-found")
    assert admin.get(f"{path}/credentials").json["credentials"] == []
    assert faults(admin.post("admin/agents", {"name": "alice"})) == ["/name"]
    assert audited(world, by=admin) == [("agent.remove", alice.id, "alice")]


def test_a_paused_agent_is_given_nothing_until_it_goes_on(
    world: World, admin: Caller, alice: Caller, bob: Caller
) -> None:
    for _ in range(2):
        bob.publish(alice)
    held = alice.claim(limit=1)[0]
    assert step(admin, alice, "pause")["paused"] is True
    assert step(admin, alice, "pause")["paused"] is True
    answer = alice.post("A/inbox/claim", {}).json
    assert (answer["events"], answer["reason"]) == ([], "paused")
    assert alice.post(f"A/inbox/{held['event_id']}/ack", {"claim_generation": 1}).status_code == 200
    assert len(alice.get("A/inbox?status=open").json["events"]) == 1
    rung: list[Ring] = []
    world.house.database.info[ON_RING] = rung.extend
    assert step(admin, alice, "resume")["paused"] is False
    assert [(encode_id(Prefix.AGENT, ring.recipient_id), ring.head) for ring in rung] == [
        (alice.id, 2)
    ]
    assert len(alice.claim()) == 1
    assert audited(world, by=admin) == [
        ("agent.pause", alice.id, "alice"),
        ("agent.resume", alice.id, "alice"),
    ]


def test_an_agent_of_another_tenant_is_one_that_is_not_there(
    world: World, admin: Caller, alice: Caller, ci: Caller
) -> None:
    world.tenant("rival", "main")
    rival = administrator(world, "rival")
    jwk = {"kty": "OKP", "crv": "Ed25519", "x": "oVr7WXWFMGYqOGAIQsD4XbBIp3nNtbCRY3LzLcBYY9Q"}
    calls: list[tuple[str, str, Any]] = [
        ("GET", "", None),
        ("PATCH", "", {"max_pending": 1}),
        *(("POST", f"/{w}", None) for w in ("disable", "enable", "remove", "pause", "resume")),
        ("GET", "/grants", None),
        ("PUT", "/grants", {"grants": []}),
        ("GET", "/credentials", None),
        ("POST", "/credentials", {"type": "client_secret"}),
        ("POST", "/credentials", {"type": "public_jwk", "public_jwk": jwk}),
        ("DELETE", "/credentials/key_" + "0" * 32, None),
    ]
    for method, below, body in calls:
        given = {} if body is None else {"json": body}
        seen = []
        for public_id in (alice.id, unknown_id("agt"), ci.id, "agt_x", "%C3%A9", "x" * 200):
            answer = rival.call(method, f"admin/agents/{public_id}{below}", **given)
            assert answer.status_code == 404, (method, below, public_id, answer.text)
            seen.append({**answer.json, "instance": "", "request_id": ""})
        assert all(one == seen[0] for one in seen), (method, below)
    assert admin.get(f"admin/agents/{alice.id}").json["status"] == "active"
    assert len(admin.get(f"admin/agents/{alice.id}/credentials").json["credentials"]) == 1
    assert audited(world, "rival", by=rival) == []


def test_each_call_takes_its_scope(world: World, alice: Caller) -> None:
    holders = {
        scope: administrator(world, "acme", scope, scope)
        for scope in (
            "tenant:agents:read",
            "tenant:agents:write",
            "tenant:grants:read",
            "tenant:grants:write",
            "tenant:audit:read",
        )
    }
    path = f"admin/agents/{alice.id}"
    read, write = ("tenant:agents:read", "tenant:agents:write"), ("tenant:agents:write",)
    calls: list[tuple[str, str, Any, tuple[str, ...]]] = [
        ("GET", "admin/agents", None, read),
        ("GET", path, None, read),
        ("GET", f"{path}/credentials", None, read),
        ("GET", f"{path}/grants", None, (*read, "tenant:grants:read", "tenant:grants:write")),
        ("POST", "admin/agents", {}, write),
        ("PATCH", path, {}, write),
        ("POST", f"{path}/pause", None, write),
        ("POST", f"{path}/credentials", {}, write),
        ("DELETE", f"{path}/credentials/x", None, write),
        ("PUT", f"{path}/grants", {}, ("tenant:grants:write",)),
    ]
    for method, address, body, enough in calls:
        given = {} if body is None else {"json": body}
        for scope, holder in holders.items():
            answer = holder.call(method, address, **given)
            assert (answer.status_code == 403) is (scope not in enough), (method, address, scope)
            if answer.status_code == 403:
                wanted = answer.json["required_scope"]
                assert wanted in enough
                assert wanted in answer.headers["WWW-Authenticate"]
        assert alice.call(method, address, **given).status_code == 403, "an agent administers"

"""The tenant's settings through the admin API, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from restante.storage.ids import Prefix, encode_id
from tests.http.administration import administrator, audited, faults
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import TestDatabase

ORIGIN = "https://app.example.com"


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world)


def change(caller: Caller, **members: Any) -> Any:
    return caller.call("PATCH", "admin/tenant", json=members)


def test_settings_are_read_and_changed_one_by_one(world: World, admin: Caller) -> None:
    tenant_id = encode_id(Prefix.TENANT, world.tenants["acme"])
    plain = {
        "tenant_id": tenant_id,
        "name": "acme",
        "require_signatures": False,
        "allowed_origins": [],
        "max_pending": None,
        "redacted_paths": [],
    }
    assert admin.get("admin/tenant").json == plain
    origins = ["https://b.example.com", ORIGIN, "http://localhost:3000"]
    assert change(admin, allowed_origins=origins).json == {
        **plain,
        "allowed_origins": sorted(origins),
    }
    assert change(admin, max_pending=7).json["max_pending"] == 7
    assert change(admin, redacted_paths=["/b", "/a/*"]).json["redacted_paths"] == ["/a/*", "/b"]
    assert change(admin, redacted_paths=["a"]).status_code == 422
    assert change(admin, redacted_paths=[]).json["redacted_paths"] == []
    changed = change(admin, require_signatures=True, allowed_origins=[ORIGIN])
    expected = {
        **plain,
        "require_signatures": True,
        "allowed_origins": [ORIGIN],
        "max_pending": 7,
    }
    assert (changed.status_code, changed.json) == (200, expected)
    assert admin.get("admin/tenant").json == expected
    # null is one that is left out, but for a limit, which can be none
    assert change(admin, max_pending=None, allowed_origins=None).json == {
        **expected,
        "max_pending": None,
    }
    assert change(admin, require_signatures=False, allowed_origins=[]).json == plain
    assert [entry[:2] for entry in audited(world, by=admin)] == [("tenant.update", tenant_id)] * 7
    reasons = [reason for _, _, reason in audited(world, by=admin)]
    assert reasons[1] == "max_pending 7"
    assert reasons[2] == 'redacted_paths ["/a/*","/b"]'
    assert sorted(reasons[4].split(", ")) == [
        f'allowed_origins ["{ORIGIN}"]',
        "require_signatures true",
    ]


def test_what_is_as_it_was_is_no_change(world: World, admin: Caller) -> None:
    for _ in range(3):
        assert change(admin, max_pending=7, allowed_origins=[ORIGIN]).status_code == 200
    assert len(audited(world, by=admin)) == 1


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, [""]),
        ({"allowed_origins": None}, [""]),
        ({"name": "other"}, ["/name"]),
        ({"max_pending": 0}, ["/max_pending"]),
        ({"max_pending": 2**31}, ["/max_pending"]),
        ({"max_pending": 1.5}, ["/max_pending"]),
        ({"max_pending": "7"}, ["/max_pending"]),
        ({"require_signatures": "yes"}, ["/require_signatures"]),
        ({"allowed_origins": ORIGIN}, ["/allowed_origins"]),
        ({"allowed_origins": ["*"]}, ["/allowed_origins/0"]),
        ({"allowed_origins": [ORIGIN, f"{ORIGIN}/"]}, ["/allowed_origins/1"]),
        ({"allowed_origins": [ORIGIN, ORIGIN]}, ["/allowed_origins/1"]),
        ({"allowed_origins": ["http://app.example.com"]}, ["/allowed_origins/0"]),
        ({"allowed_origins": [f"{ORIGIN}:{n}" for n in range(1000, 1051)]}, ["/allowed_origins"]),
        ({"allowed_origins": ["x" * 301]}, ["/allowed_origins/0"]),
        ({"max_pending": 7, "allowed_origins": ["null"]}, ["/allowed_origins/0"]),
    ],
)
def test_what_is_refused_changes_nothing(
    world: World, admin: Caller, body: dict[str, Any], pointers: list[str]
) -> None:
    before = admin.get("admin/tenant").json
    assert faults(change(admin, **body)) == pointers
    assert admin.get("admin/tenant").json == before
    assert audited(world, by=admin) == []


def test_as_many_origins_as_there_may_be_are_kept(admin: Caller) -> None:
    host = ".".join(["a" * 60] * 4)
    origins = [f"https://{host}:{n}" for n in range(1000, 1050)]
    assert change(admin, allowed_origins=origins).json["allowed_origins"] == origins
    assert admin.get("admin/tenant").json["allowed_origins"] == origins


def test_they_are_those_of_ones_own_tenant(world: World, admin: Caller) -> None:
    world.tenant("rival", "main")
    rival = administrator(world, "rival")
    change(admin, max_pending=7, allowed_origins=[ORIGIN])
    told = rival.get("admin/tenant").json
    assert (told["name"], told["max_pending"], told["allowed_origins"]) == ("rival", None, [])


def test_agents_have_to_sign_from_then_on(world: World, admin: Caller) -> None:
    alice = world.agent("acme", "alice", verbs("main"))
    assert alice.post("A/inbox/claim", {}).status_code == 200
    change(admin, require_signatures=True)
    world.house.authority._monotonic = lambda: 1e9  # what is known is too old
    fresh = world.narrowed(alice, verbs("main"))
    refused = fresh.post("A/inbox/claim", {})
    assert (refused.status_code, refused.json["type"]) == (401, "/problems/signature-missing")
    assert fresh.get("A/inbox/stats").status_code == 200


def test_the_limit_holds_for_all_inboxes_together(world: World, admin: Caller) -> None:
    alice, bob = (world.agent("acme", name, verbs("main")) for name in ("alice", "bob"))
    change(admin, max_pending=2)
    alice.publish(alice, bob)
    full = alice.post(
        "events", {"recipients": [bob.id], "project": "main", "type": "t", "payload": {}}
    )
    assert (full.status_code, full.json["type"]) == (429, "/problems/inbox-full")
    change(admin, max_pending=None)
    world.house.database.info.pop("restante.known_recipients")
    alice.publish(bob)


def test_it_takes_the_scope_to_write_agents(world: World) -> None:
    for scope in ("tenant:agents:read", "tenant:audit:read", "tenant:grants:write"):
        other = administrator(world, "acme", scope, scope)
        for answer in (other.get("admin/tenant"), change(other, max_pending=7)):
            assert answer.status_code == 403
            assert answer.json["required_scope"] == "tenant:agents:write"
    alice = world.agent("acme", "alice", verbs("main"))
    assert alice.get("admin/tenant").status_code == 403

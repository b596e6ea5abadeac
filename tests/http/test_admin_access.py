"""Who may administer agents: by which scope, of which tenant; on each database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.administration import administrator, audited, let_states_age
from tests.http.world import Caller, World, open_world, unknown_id
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world)


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


def test_a_service_administers_unsigned_where_agents_have_to_sign(
    world: World, admin: Caller, alice: Caller
) -> None:
    admin.call("PATCH", "admin/tenant", json={"require_signatures": True})
    let_states_age(world)
    assert alice.post("A/inbox/claim", {}).json["type"] == "/problems/signature-missing"
    assert admin.post(f"admin/agents/{alice.id}/pause").status_code == 200


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

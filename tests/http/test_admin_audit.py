"""The audit through the admin API, on each database."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.http.administration import administrator, faults
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world)


def entries(caller: Caller, query: str = "") -> list[dict[str, Any]]:
    answer = caller.get(f"admin/audit{query}")
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json["entries"]
    return found


def test_an_entry_says_who_did_what_to_what_and_by_which_request(
    world: World, admin: Caller
) -> None:
    made = admin.post("admin/projects", {"slug": "mail"}, headers={"X-Request-Id": "req-7"})
    newest = entries(admin)[0]
    assert newest == {
        "entry_id": newest["entry_id"],
        "at": newest["at"],
        "actor": {"kind": "service", "id": admin.id},
        "action": "project.create",
        "target": made.json["project_id"],
        "outcome": "done",
        "reason": "mail",
        "address": "127.0.0.1",
        "request_id": "req-7",
    }
    assert newest["entry_id"].startswith("aud_")
    assert newest["at"].endswith("Z")


def test_entries_are_paged_newest_first_whatever_is_added_meanwhile(
    world: World, admin: Caller
) -> None:
    for number in range(5):
        admin.post("admin/projects", {"slug": f"p{number}"})
    whole = entries(admin, "?limit=1000")
    found, token = [], ""
    while True:
        page = admin.get(f"admin/audit?limit=3{token}").json
        found += page["entries"]
        admin.post("admin/projects", {"slug": f"late-{len(found)}"})
        if page["next_page_token"] is None:
            break
        token = f"&page_token={page['next_page_token']}"
    assert found == whole
    assert [entry["at"] for entry in found] == sorted((e["at"] for e in found), reverse=True)


def test_entries_are_found_by_what_was_done_and_to_what(world: World, admin: Caller) -> None:
    ids = [admin.post("admin/projects", {"slug": slug}).json["project_id"] for slug in ("p1", "p2")]
    admin.call("PATCH", "admin/projects/p1", json={"on_quarantine": "hold"})
    of_p1 = entries(admin, f"?target={ids[0]}")
    assert [entry["action"] for entry in of_p1] == ["project.update", "project.create"]
    updates = entries(admin, "?action=project.update")
    assert [entry["target"] for entry in updates] == [ids[0]]
    assert entries(admin, f"?action=project.update&target={ids[1]}") == []
    assert entries(admin, "?target=nothing") == []
    assert len(entries(admin, f"?actor={admin.id}&action=project.create")) == 2
    assert entries(admin, "?actor=svc_nobody") == []
    at = updates[0]["at"]
    assert entries(admin, f"?since={at}")[-1]["action"] == "project.update"
    assert "project.update" not in [one["action"] for one in entries(admin, f"?until={at}")]
    wrong = admin.get("admin/audit?since=yesterday")
    assert wrong.status_code == 422
    assert "RFC 3339" in wrong.text
    token = admin.get("admin/audit?limit=1&action=project.create").json["next_page_token"]
    for query in ("", "action=project.update&", f"action=project.create&target={ids[0]}&"):
        answer = admin.get(f"admin/audit?{query}page_token={token}")
        assert (answer.status_code, answer.json["type"]) == (400, "/problems/page-token-invalid")


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("action=project.destroy", "action"),
        ("action=", "action"),
        ("target=", "target"),
        ("actor=", "actor"),
        ("until=2031", "until"),
        ("limit=0", "limit"),
        ("limit=1001", "limit"),
    ],
)
def test_what_cannot_be_asked_for(admin: Caller, query: str, pointer: str) -> None:
    assert faults(admin.get(f"admin/audit?{query}")) == [pointer]


def test_a_tenant_sees_its_own_chain_alone(world: World, admin: Caller) -> None:
    world.tenant("rival", "main")
    rival = administrator(world, "rival")
    made = admin.post("admin/projects", {"slug": "mail"}).json["project_id"]
    assert entries(rival, f"?target={made}") == []
    assert {e["actor"]["kind"] for e in entries(rival, "?limit=1000")} == {"application"}
    token = admin.get("admin/audit?limit=1").json["next_page_token"]
    answer = rival.get(f"admin/audit?limit=1&page_token={token}")
    assert (answer.status_code, answer.json["type"]) == (400, "/problems/page-token-invalid")


def test_a_refused_signature_is_seen_and_no_secret_is(world: World, admin: Caller) -> None:
    alice = world.agent("acme", "alice", verbs("main"))
    alice.get("A/inbox", headers={"Signature": "sig=:AAAA:"})
    (refused,) = entries(admin, "?action=signature.refuse")
    assert (refused["outcome"], refused["target"], refused["actor"]["id"]) == (
        "refused",
        alice.id,
        alice.id,
    )
    text = admin.get("admin/audit?limit=1000").text
    assert alice.secret not in text
    assert admin.secret not in text


def test_it_takes_the_scope_to_read_it(world: World) -> None:
    other = administrator(world, "acme", "other", "tenant:agents:write", "tenant:grants:write")
    answer = other.get("admin/audit")
    assert (answer.status_code, answer.json["required_scope"]) == (403, "tenant:audit:read")
    reader = administrator(world, "acme", "reader", "tenant:audit:read")
    assert reader.get("admin/audit").status_code == 200

"""What administrators see of callbacks and decide about them."""

from __future__ import annotations

import pytest

from restante.egress.refusal import Cause
from tests.http.administration import administrator, audited, faults
from tests.http.callbacks import Outside, decided, http, problem, register, registered
from tests.http.world import Caller, World, unknown_id, verbs

SCOPES = ("tenant:callbacks:read", "tenant:callbacks:write", "tenant:audit:read")


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world, "acme", "admin", *SCOPES)


def test_what_the_challenge_saw_is_shown(outside: Outside, hooked: Caller, admin: Caller) -> None:
    callback_id = registered(hooked)
    (told,) = admin.get("admin/callbacks?status=pending_approval").json["callbacks"]
    assert told == admin.get(f"admin/callbacks/{callback_id}").json
    assert (told["callback_id"], told["agent_name"]) == (callback_id, "hooked")
    assert told["seen"] == {
        "address": "public_ipv4",
        "certificate_names": ["hooks.example.com", "alt.example.com"],
        "certificate_expires_at": "2031-05-01T00:00:00.000000Z",
        "latency_ms": 0,
    }
    assert "93.184" not in str(told)
    assert admin.get("admin/callbacks?status=active").json["callbacks"] == []
    assert faults(admin.get("admin/callbacks?status=removed")) == ["status"]


def test_a_callback_is_approved_suspended_resumed_and_rejected(
    world: World, outside: Outside, hooked: Caller, admin: Caller
) -> None:
    callback_id = registered(hooked)
    seen = []
    for step in ("approve", "approve", "suspend", "resume", "reject", "reject"):
        answer = decided(admin, callback_id, step)
        assert answer.status_code == 200, answer.text
        seen.append(answer.json["status"])
    assert seen == ["active", "active", "suspended", "active", "rejected", "rejected"]
    assert hooked.get(f"A/callbacks/{callback_id}").json["status_reason"] == "agreed"
    done = [(action, reason) for action, target, reason in audited(world, by=admin)]
    assert done == [
        (f"callback.{step}", "agreed") for step in ("approve", "suspend", "resume", "reject")
    ]
    for step in ("approve", "suspend", "resume"):
        refused = decided(admin, callback_id, step)
        assert problem(refused) == (409, "callback-conflict")
        assert refused.json["callback_status"] == "rejected"
    refused = hooked.post(f"A/callbacks/{callback_id}/challenge")
    assert problem(refused) == (409, "callback-conflict")
    assert "change its url, mode or projects" in refused.json["detail"]


def test_a_reason_has_lines_and_no_control_characters(
    outside: Outside, hooked: Caller, admin: Caller
) -> None:
    path = f"admin/callbacks/{registered(hooked)}"
    for reason in ("a\0b", "a\x1bb", "a\x80b", " "):
        assert faults(admin.post(f"{path}/approve", {"reason": reason})) == ["/reason"]
    assert admin.get(path).json["status"] == "pending_approval"
    assert admin.post(f"{path}/approve", {"reason": "one\r\n\ttwo"}).json["status"] == "active"


def test_only_one_that_answered_is_approved(
    outside: Outside, hooked: Caller, admin: Caller
) -> None:
    outside.receiver.answering = lambda _: http(b"no")
    callback_id = register(hooked).json["callback_id"]
    assert problem(decided(admin, callback_id, "approve")) == (409, "callback-conflict")
    without = admin.post(f"admin/callbacks/{callback_id}/reject", {})
    assert faults(without) == ["/reason"]
    assert faults(admin.post(f"admin/callbacks/{callback_id}/reject", {"reason": " "})) == [
        "/reason"
    ]
    assert decided(admin, callback_id, "reject").json["status"] == "rejected"


def test_the_url_is_judged_again_at_approval(
    world: World, outside: Outside, hooked: Caller, admin: Caller
) -> None:
    callback_id = registered(hooked)
    outside.names._answers = [["10.0.0.1"]]
    refused = decided(admin, callback_id, "approve")
    assert problem(refused) == (422, "challenge-failed")
    assert (refused.json["reason"], outside.waited) == ("unreachable", [5.5])
    outside.names._answers = [["93.184.215.14"]]
    assert decided(admin, callback_id, "approve").status_code == 200
    assert len(outside.receiver.requests) == 1


def test_one_delivers_an_agents_events_of_a_project(
    world: World, outside: Outside, admin: Caller
) -> None:
    agent = world.agent(
        "acme", "two", [*verbs("main", "claim", "callback"), *verbs("other", "claim", "callback")]
    )
    first = registered(agent, projects=["main"])
    both = registered(agent, projects=["main", "other"])
    every = registered(agent)
    other = registered(agent, projects=["other"])
    telling = registered(agent, mode="notify")
    assert decided(admin, first, "approve").status_code == 200
    for callback_id in (both, every):
        refused = decided(admin, callback_id, "approve")
        assert problem(refused) == (409, "callback-conflict")
        assert refused.json["callback_id"] == first
    for callback_id in (other, telling):
        assert decided(admin, callback_id, "approve").status_code == 200
    assert decided(admin, first, "suspend").status_code == 200
    assert decided(admin, other, "suspend").status_code == 200
    assert decided(admin, both, "approve").status_code == 200
    assert problem(decided(admin, first, "resume")) == (409, "callback-conflict")
    assert decided(admin, both, "reject").status_code == 200
    assert decided(admin, first, "resume").status_code == 200


def test_a_change_of_an_active_one_takes_another_approval(
    outside: Outside, hooked: Caller, admin: Caller
) -> None:
    callback_id = registered(hooked)
    decided(admin, callback_id, "approve")
    path = f"A/callbacks/{callback_id}"
    assert hooked.post(f"{path}/challenge").json["status"] == "active"
    assert hooked.call("PATCH", path, json={"max_in_flight": 1}).json["status"] == "active"
    changed = hooked.call("PATCH", path, json={"mode": "notify"}).json
    assert (changed["status"], changed["approved_at"]) == ("pending_approval", None)


def test_three_failed_challenges_within_an_hour_suspend_an_active_one(
    world: World, outside: Outside, hooked: Caller, admin: Caller
) -> None:
    callback_id = registered(hooked)
    decided(admin, callback_id, "approve")
    outside.receiver.failing = Cause.CONNECT
    path = f"A/callbacks/{callback_id}"
    seen = []
    for _ in range(3):
        assert hooked.post(f"{path}/challenge").json["reason"] == "unreachable"
        seen.append(hooked.get(path).json["status"])
    assert seen == ["active", "active", "suspended"]
    assert "3 challenges" in hooked.get(path).json["status_reason"]
    outside.receiver.failing = None
    assert hooked.post(f"{path}/challenge").json["status"] == "suspended"
    assert decided(admin, callback_id, "resume").json["status"] == "active"


def test_who_may_what(world: World, outside: Outside, hooked: Caller, admin: Caller) -> None:
    callback_id = registered(hooked)
    reader = administrator(world, "acme", "reader", "tenant:callbacks:read")
    assert len(reader.get("admin/callbacks").json["callbacks"]) == 1
    for step in ("approve", "reject", "suspend", "resume"):
        assert problem(decided(reader, callback_id, step)) == (403, "insufficient-scope")
        for unknown in (unknown_id("cb"), "cb_x", "x"):
            assert problem(decided(admin, unknown, step)) == (404, "not-found")
    world.tenant("rival", "main")
    rival = administrator(world, "rival", "admin", *SCOPES)
    assert rival.get("admin/callbacks").json["callbacks"] == []
    assert problem(rival.get(f"admin/callbacks/{callback_id}")) == (404, "not-found")
    assert problem(decided(rival, callback_id, "approve")) == (404, "not-found")

"""Quarantine through the administration's API (contract 6.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.http.assigning import assign, settle
from tests.http.world import Caller, World, verbs
from workers.triage import Triage

ADMIN = "/api/v1/admin"


@pytest.fixture
def triager(world: World) -> Caller:
    """A service that may read and change quarantine, and nothing else."""
    return world.service("acme", "triager", ["tenant:quarantine:read", "tenant:quarantine:write"])


def poison(agent: Caller, producer: Caller, *messages: str) -> list[str]:
    """Ids of events that were rejected with these reasons."""
    ids = [producer.publish(agent)[0]["event_id"] for _ in messages]
    for event, message in zip(agent.claim(limit=100), messages, strict=True):
        answer = agent.post(
            f"A/inbox/{event['event_id']}/reject",
            {"claim_generation": event["claim_generation"], "reason": message},
        )
        assert answer.status_code == 200, answer.text
    return ids


def rejected_work(world: World, agent: Caller) -> str:
    """The id of an assignment's event that its only candidate rejected."""
    made = assign(world.service("acme", "planner", ["tenant:events:publish"]), agent)
    settle(agent, "reject", reason="x")
    return str(made["event_id"])


def work_off(world: World) -> None:
    while Triage(world.house.database).run_once().get("more"):
        pass


def test_a_poison_wave_is_seen_counted_and_put_back(
    world: World, alice: Caller, bob: Caller, triager: Caller
) -> None:
    ids = poison(alice, bob, "no field 'a' in 17", "no field 'b' in 23", "else")
    told = triager.get(f"{ADMIN}/quarantine").json
    assert {e["event_id"] for e in told["events"]} == set(ids)
    assert [g["count"] for g in told["groups"]] == [2, 1]
    assert told["next_page_token"] is None
    signature = told["groups"][0]["failure_signature"]
    of_kind = triager.get(f"{ADMIN}/quarantine?failure_signature={signature}&limit=1").json
    assert (len(of_kind["events"]), len(of_kind["groups"])) == (1, 1)
    rest = triager.get(
        f"{ADMIN}/quarantine?failure_signature={signature}&page_token={of_kind['next_page_token']}"
    ).json
    assert (len(rest["events"]), rest["groups"], rest["next_page_token"]) == (1, [], None)

    wanted = {"filter": {"failure_signature": signature}, "reason": "mended"}
    counted = triager.post(f"{ADMIN}/quarantine/redrive", {**wanted, "dry_run": True})
    assert (counted.status_code, counted.json["state"], counted.json["total"]) == (
        200,
        "dry_run",
        2,
    )
    made = triager.post(f"{ADMIN}/quarantine/redrive", wanted)
    assert (made.status_code, made.json["state"], made.json["total"]) == (202, "running", 2)
    work_off(world)
    job = triager.get(f"{ADMIN}/jobs/{made.json['job_id']}").json
    assert (job["state"], job["done"], job["skipped"]) == ("completed", 2, 0)
    assert job["actor"] == {"kind": "service", "id": triager.id}
    again = alice.claim(limit=10)
    assert [e["event_id"] for e in again] == ids[:2]
    assert all(e["redriven"] for e in again)
    assert len(triager.get(f"{ADMIN}/quarantine").json["events"]) == 1


def test_events_are_discarded_by_their_ids(
    world: World, alice: Caller, bob: Caller, triager: Caller
) -> None:
    ids = poison(alice, bob, "x", "y")
    made = triager.post(f"{ADMIN}/quarantine/discard", {"event_ids": [ids[1]], "reason": "junk"})
    assert made.status_code == 202
    work_off(world)
    assert alice.get(f"A/inbox/{ids[1]}").json["status"] == "cancelled"
    assert alice.get(f"A/inbox/{ids[0]}").json["status"] == "quarantined"


def test_an_amended_event_is_a_new_one(
    world: World, alice: Caller, bob: Caller, triager: Caller
) -> None:
    (old,) = poison(alice, bob, "x")
    made = triager.post(
        f"{ADMIN}/quarantine/redrive",
        {"event_ids": [old], "reason": "a slip", "amend": {"payload": {"n": 2}}},
    )
    assert (made.status_code, made.json["action"]) == (202, "amend")
    work_off(world)
    (event,) = alice.claim()
    assert (event["corrects"], event["payload"]) == (old, {"n": 2})
    assert event["producer"]["id"] == triager.id
    assert alice.get(f"A/inbox/{old}").json["status"] == "cancelled"


def test_a_cancelled_job_says_so(world: World, alice: Caller, bob: Caller, triager: Caller) -> None:
    poison(alice, bob, "x", "y")
    made = triager.post(
        f"{ADMIN}/quarantine/redrive", {"filter": {}, "reason": "r", "stagger_seconds": 60}
    ).json
    work_off(world)
    ended = triager.post(f"{ADMIN}/jobs/{made['job_id']}/cancel")
    assert (ended.status_code, ended.json["state"], ended.json["done"]) == (200, "cancelled", 1)


def test_one_first_then_the_rest(world: World, alice: Caller, bob: Caller, triager: Caller) -> None:
    ids = poison(alice, bob, "x", "y")
    wanted = {"filter": {}, "reason": "r", "canary": True}
    made = triager.post(f"{ADMIN}/quarantine/redrive", wanted).json
    assert (made["canary"], made["canary_event_id"], made["stopped_because"]) == (True, None, None)
    work_off(world)
    (event,) = alice.claim(limit=10)
    told = triager.get(f"{ADMIN}/jobs/{made['job_id']}").json
    assert (told["state"], told["done"], told["canary_event_id"]) == ("running", 1, ids[0])
    alice.post(f"A/inbox/{ids[0]}/ack", {"claim_generation": event["claim_generation"]})
    world.pass_time(2)
    work_off(world)
    assert triager.get(f"{ADMIN}/jobs/{made['job_id']}").json["state"] == "completed"
    assert [e["event_id"] for e in alice.claim(limit=10)] == ids[1:]


def test_a_repeat_with_the_same_key_makes_no_second_job(
    world: World, alice: Caller, bob: Caller, triager: Caller
) -> None:
    poison(alice, bob, "x")
    wanted = {"filter": {}, "reason": "r"}
    key = {"headers": {"Idempotency-Key": "k-1"}}
    first = triager.post(f"{ADMIN}/quarantine/redrive", wanted, **key)
    again = triager.post(f"{ADMIN}/quarantine/redrive", wanted, **key)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (again.status_code, again.json["job_id"]) == (202, first.json["job_id"])
    other = triager.post(f"{ADMIN}/quarantine/redrive", {**wanted, "reason": "s"}, **key)
    assert other.json["type"] == "/problems/idempotency-key-reused"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"reason": "r"}, ""),
        ({"filter": {}, "event_ids": ["evt_x"], "reason": "r"}, ""),
        ({"filter": {}}, "/reason"),
        ({"filter": {}, "reason": ""}, "/reason"),
        ({"filter": {}, "reason": " \u00a0\n"}, "/reason"),
        ({"filter": {}, "reason": "a\x1bb"}, "/reason"),
        ({"filter": {}, "reason": " ", "merge_patch": {}}, "/reason"),
        ({"event_ids": ["evt_x"], "reason": " ", "amend": {"payload": {}}}, "/reason"),
        ({"filter": {"colour": "red"}, "reason": "r"}, "/filter/colour"),
        ({"filter": {"since": "yesterday"}, "reason": "r"}, "/filter/since"),
        ({"filter": {"failure_signature": "x"}, "reason": "r"}, "/filter/failure_signature"),
        ({"event_ids": [], "reason": "r"}, "/event_ids"),
        ({"event_ids": ["evt_x"], "reason": "r"}, "/event_ids/0"),
        ({"filter": {}, "reason": "r", "stagger_seconds": -1}, "/stagger_seconds"),
        ({"filter": {}, "reason": "r", "stagger_seconds": 3601}, "/stagger_seconds"),
        ({"filter": {}, "reason": "r", "dry_run": "no"}, "/dry_run"),
        ({"filter": {}, "reason": "r", "amend": {"payload": {}}}, "/amend"),
        ({"event_ids": ["evt_x"], "reason": "r", "amend": {}}, "/amend/payload"),
        ({"filter": {}, "reason": "r", "merge_patch": [1]}, "/merge_patch"),
        ('{"filter":{},"reason":"r","merge_patch":{"m":{"a":1,"a":2}}}', "/merge_patch"),
        (
            {
                "event_ids": ["evt_x"],
                "reason": "r",
                "amend": {"payload": {}},
                "merge_patch": {},
            },
            "/merge_patch",
        ),
    ],
)
def test_what_is_wrong_is_named(triager: Caller, body: dict[str, Any] | str, pointer: str) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    sent = {"data": text, "content_type": "application/json"}
    answer = triager.call("POST", f"{ADMIN}/quarantine/redrive", **sent)
    assert answer.status_code == 422, answer.text
    assert [e["pointer"] for e in answer.json["errors"]] == [pointer]


@pytest.mark.parametrize("reason", [" ", "a\x1bb", "a\x80b"])
def test_a_blank_reason_or_control_characters_are_refused_wherever_one_is_asked_for(
    world: World, reason: str
) -> None:
    may = ["events:publish", "events:cancel", "quarantine:write"]
    boss = world.service("acme", "boss", [f"tenant:{one}" for one in may])
    for path, body in (
        (f"{ADMIN}/quarantine/discard", {"event_ids": ["evt_x"]}),
        (f"{ADMIN}/assignments/asg_x/reassign", {}),
        ("assignments/asg_x/cancel", {}),
        ("events/evt_x/cancel", {}),
    ):
        answer = boss.post(path, {**body, "reason": reason})
        assert answer.status_code == 422, answer.text
        (error,) = answer.json["errors"]
        assert (error["pointer"], error["detail"][:12]) == ("/reason", "must say why")


def test_many_are_amended_by_one_merge_patch(
    world: World, alice: Caller, bob: Caller, triager: Caller
) -> None:
    ids = poison(alice, bob, "x", "y")
    wanted = {"filter": {}, "reason": "euros", "merge_patch": {"n": None, "price": 1}}
    counted = triager.post(f"{ADMIN}/quarantine/redrive", {**wanted, "dry_run": True}).json
    assert (counted["action"], counted["total"]) == ("amend", 2)
    assert counted["patch_fit"] == {
        "looked_at": 2,
        "fits": 2,
        "no_object": 0,
        "unchanged": 0,
        "too_large": 0,
        "first_event_id": ids[0],
    }
    assert counted["assigned"] == 0
    made = triager.post(f"{ADMIN}/quarantine/redrive", wanted)
    assert (made.status_code, made.json["action"], made.json["patch_fit"]) == (202, "amend", None)
    work_off(world)
    job = triager.get(f"{ADMIN}/jobs/{made.json['job_id']}").json
    assert (job["done"], job["skipped"], job["unpatched"]) == (2, 0, 0)
    assert [(e["payload"], e["corrects"]) for e in alice.claim(limit=10)] == [
        ({"price": 1}, one) for one in ids
    ]
    large = {**wanted, "merge_patch": {"t": "x" * 300_000}}
    answer = triager.post(f"{ADMIN}/quarantine/redrive", large)
    assert (answer.status_code, answer.json["pointer"]) == (413, "/merge_patch")


def test_what_belongs_to_an_assignment_is_redriven_not_amended(
    world: World, alice: Caller, triager: Caller
) -> None:
    event = rejected_work(world, alice)
    amend = {"event_ids": [event], "reason": "r", "amend": {"payload": {}}}
    answer = triager.post(f"{ADMIN}/quarantine/redrive", amend)
    assert answer.status_code == 422
    (fault,) = answer.json["errors"]
    assert fault["pointer"] == "/event_ids/0"
    assert "redrive it or reassign the assignment" in fault["detail"]
    patch = {"filter": {}, "merge_patch": {"n": 2}, "dry_run": True}
    counted = triager.post(f"{ADMIN}/quarantine/redrive", patch).json
    assert (counted["matched"], counted["assigned"], counted["total"]) == (1, 1, 0)


def test_a_discard_is_not_amended(triager: Caller) -> None:
    body = {"event_ids": ["evt_x"], "reason": "r", "amend": {"payload": {}}}
    assert triager.post(f"{ADMIN}/quarantine/discard", body).status_code == 422


def test_a_payload_too_large_is_refused(
    world: World, alice: Caller, bob: Caller, triager: Caller
) -> None:
    (old,) = poison(alice, bob, "x")
    body = {"event_ids": [old], "reason": "r", "amend": {"payload": {"t": "x" * 300_000}}}
    answer = triager.post(f"{ADMIN}/quarantine/redrive", body)
    assert (answer.status_code, answer.json["pointer"]) == (413, "/amend/payload")


def test_another_tenants_quarantine_is_not_there(
    world: World, alice: Caller, bob: Caller, triager: Caller
) -> None:
    (event,) = poison(alice, bob, "x")
    made = triager.post(f"{ADMIN}/quarantine/redrive", {"filter": {}, "reason": "r"}).json
    world.tenant("globex", "main")
    stranger = world.service(
        "globex", "stranger", ["tenant:quarantine:read", "tenant:quarantine:write"]
    )
    told = stranger.get(f"{ADMIN}/quarantine").json
    assert (told["events"], told["groups"]) == ([], [])
    for path in (f"jobs/{made['job_id']}", "jobs/job_" + "0" * 32, "jobs/x"):
        assert stranger.get(f"{ADMIN}/{path}").status_code == 404
        assert stranger.post(f"{ADMIN}/{path}/cancel").status_code == 404
    refused = stranger.post(f"{ADMIN}/quarantine/discard", {"event_ids": [event], "reason": "mine"})
    assert refused.status_code == 422
    counted = stranger.post(f"{ADMIN}/quarantine/discard", {"filter": {}, "dry_run": True})
    assert counted.json["matched"] == 0


def test_each_call_wants_its_scope(world: World, alice: Caller, triager: Caller) -> None:
    reader = world.narrowed(triager, ["tenant:quarantine:read"])
    writer = world.narrowed(triager, ["tenant:quarantine:write"])
    agent = world.agent("acme", "mallory", verbs("main"))
    redrive = {"filter": {}, "dry_run": True}
    assert reader.get(f"{ADMIN}/quarantine").status_code == 200
    refused = reader.post(f"{ADMIN}/quarantine/redrive", redrive)
    assert (refused.status_code, refused.json["required_scope"]) == (403, "tenant:quarantine:write")
    assert writer.post(f"{ADMIN}/quarantine/redrive", redrive).status_code == 200
    assert agent.get(f"{ADMIN}/quarantine").status_code == 403
    assert agent.post(f"{ADMIN}/quarantine/discard", redrive).status_code == 403

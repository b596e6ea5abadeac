"""Turns through the API: forms, scopes first, all or nothing, once under a key (contract 5.7)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.world import Caller, World, unknown_id, verbs

KEY = {"Idempotency-Key": "turn-1"}


def turn(caller: Caller, body: Any, **given: Any) -> Any:
    return caller.post("A/inbox/turn", body, **given)


def named(event: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"event_id": event["event_id"], "claim_generation": event["claim_generation"], **more}


def message(*recipients: Caller, **said: Any) -> dict[str, Any]:
    ids = [recipient.id for recipient in recipients]
    return {"recipients": ids, "project": "main", "payload": {"type": "next", "n": 1}, **said}


def held(alice: Caller, events: int = 1) -> list[dict[str, Any]]:
    for _ in range(events):
        alice.publish(alice)
    return alice.claim(limit=events)


def test_a_turn(alice: Caller, bob: Caller) -> None:
    one, two, three = held(alice, 3)
    value = '{ "n" : 1.50 }'
    body = (
        f'{{"ack":[{{"event_id":"{one["event_id"]}","claim_generation":1,"result":{{"ok":true}}}}],'
        f'"release":[{{"event_id":"{two["event_id"]}","claim_generation":1,"delay_seconds":30}}],'
        f'"reject":[{{"event_id":"{three["event_id"]}","claim_generation":1,"reason":"no"}}],'
        f'"memory":[{{"project":"main","key":"a","value":{value}}},'
        '{"project":"main","key":"b","value":null}],'
        f'"publish":[{{"recipients":["{bob.id}"],"project":"main","payload":{{"type":"t","n":1}}}},'
        f'{{"recipients":["{bob.id}"],"project":"main","payload":{{"type":"t","n":2}}}}]}}'
    )
    answer = turn(alice, None, data=body, content_type="application/json", headers=KEY)
    assert answer.status_code == 200, answer.text
    told = answer.json
    assert [[a["status"] for a in told[part]] for part in ("ack", "release", "reject")] == [
        ["completed"],
        ["pending"],
        ["quarantined"],
    ]
    assert [(e["key"], e["version"], e["deleted"]) for e in told["memory"]] == [
        ("a", 1, False),
        ("b", 2, True),
    ]
    assert all("value" not in entry for entry in told["memory"])
    assert [e["sequence_number"] for e in told["publish"]] == [1, 2]
    assert f'"value":{value}' in alice.get("A/memory/main/a").text
    assert [e["payload"]["n"] for e in bob.get("A/inbox").json["events"]] == [1, 2]


def test_one_order_may_stand_without_its_list(alice: Caller) -> None:
    one, two, three = held(alice, 3)
    answer = turn(
        alice,
        {"ack": named(one), "release": named(two), "reject": named(three, reason="no")},
    )
    assert answer.status_code == 200
    told = answer.json
    assert [len(told[part]) for part in ("ack", "release", "reject")] == [1, 1, 1]
    assert turn(alice, {}).json == {part: [] for part in told}


def test_a_repeat_is_answered_with_what_the_first_made(
    world: World, alice: Caller, bob: Caller
) -> None:
    (event,) = held(alice)
    body = {
        "ack": [named(event, result={"n": 1})],
        "memory": [{"project": "main", "key": "k", "value": 1}],
        "publish": [message(bob)],
    }
    first = turn(alice, body, headers=KEY)
    world.pass_time(3600)  # the lease would be long over
    again = turn(alice, body, headers=KEY)
    assert (again.status_code, again.json) == (200, first.json)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert bob.get("A/inbox/stats").json["head"] == 1
    assert alice.get("A/memory/main/k").json["version"] == 1
    other = turn(alice, {**body, "memory": []}, headers=KEY)
    assert (other.status_code, other.json["type"]) == (422, "/problems/idempotency-key-reused")
    # under another key the event's follow-ups are not made again
    fresh = turn(alice, body, headers={"Idempotency-Key": "turn-2"})
    assert (fresh.status_code, fresh.json["type"]) == (409, "/problems/turn-conflict")
    assert fresh.json["failures"][0]["problem"]["reason"] == "completed"


def test_a_refused_turn_leaves_its_key_free(alice: Caller, bob: Caller) -> None:
    (event,) = held(alice)
    body = {"ack": [named(event)], "publish": [message(bob)]}
    stale = {**body, "ack": [{**named(event), "claim_generation": 7}]}
    assert turn(alice, stale, headers=KEY).status_code == 409
    assert turn(alice, body, headers=KEY).status_code == 200


@pytest.mark.parametrize("part", ["memory", "publish"])
def test_what_creates_needs_a_key(alice: Caller, part: str) -> None:
    told = {
        "memory": [{"project": "main", "key": "k", "value": 1}],
        "publish": [message(alice)],
    }
    answer = turn(alice, {part: told[part]})
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "Idempotency-Key")
    assert turn(alice, {part: []}).status_code == 200


def test_failures_say_which_part_of_which_list_and_why(
    world: World, alice: Caller, bob: Caller
) -> None:
    one, two = held(alice, 2)
    alice.call("PUT", "A/memory/main/k", json={"value": 1})
    world.tenant("rival", "main")
    rival = world.agent("rival", "bob", verbs("main"))
    answer = turn(
        alice,
        {
            "ack": [named(one), {**named(two), "claim_generation": 2}],
            "memory": [{"project": "main", "key": "k", "value": 2, "if_version": 3}],
            "publish": [message(bob), message(rival)],
        },
        headers=KEY,
    )
    assert (answer.status_code, answer.json["type"]) == (409, "/problems/turn-conflict")
    told = [
        (f["part"], f["index"], f["problem"]["type"], f["problem"]["status"])
        for f in answer.json["failures"]
    ]
    assert told == [
        ("ack", 1, "/problems/stale-claim", 409),
        ("memory", 0, "/problems/version-conflict", 412),
        ("publish", 1, "/problems/recipient-refused", 422),
    ]
    problems = [failure["problem"] for failure in answer.json["failures"]]
    assert (problems[0]["reason"], problems[0]["current_generation"]) == ("never_claimed", 1)
    assert problems[1]["current_version"] == 1
    assert problems[2]["recipients"] == [rival.id]
    # nothing of it was done
    assert alice.get("A/memory/main/k").json["value"] == 1
    assert bob.get("A/inbox/stats").json["head"] == 0
    assert turn(alice, {"ack": [named(one), named(two)]}).status_code == 200


def test_ids_that_are_none_are_refused_like_those_of_nobody(alice: Caller, bob: Caller) -> None:
    nobody = {"recipients": [bob.id, "agt_nonsense"], "project": "main", "payload": {"type": "t"}}
    for body, part, index, slug in (
        ({"ack": [{"event_id": "evt_x", "claim_generation": 1}]}, "ack", 0, "not-found"),
        ({"publish": [message(bob), nobody]}, "publish", 1, "recipient-refused"),
        ({"publish": [message(bob, reply_to="agt_x")]}, "publish", 0, "recipient-refused"),
        (
            {"ack": [{"event_id": unknown_id("evt"), "claim_generation": 1}]},
            "ack",
            0,
            "not-found",
        ),
    ):
        answer = turn(alice, body, headers=KEY)
        assert answer.status_code == 409, answer.text
        (failure,) = answer.json["failures"]
        assert (failure["part"], failure["index"]) == (part, index)
        assert failure["problem"]["type"] == f"/problems/{slug}"


def test_a_missing_scope_is_403_before_anything(world: World) -> None:
    every = world.agent("acme", "every", verbs("main"))
    (event,) = held(every)
    parts: dict[str, Any] = {
        "ack": [named(event)],
        "memory": [{"project": "main", "key": "k", "value": 1}],
        "publish": [message(every)],
    }
    for without, part in (("claim", "ack"), ("memory", "memory"), ("publish", "publish")):
        left = [verb for verb in ("claim", "memory", "publish") if verb != without]
        narrow = world.narrowed(every, verbs("main", *left))
        for headers in (KEY, {}):  # before the key is missed, too
            answer = turn(narrow, parts, headers=headers)
            assert answer.status_code == 403, without
            assert answer.json["required_scope"].endswith(f":{without}")
        rest = {name: said for name, said in parts.items() if name != part}
        assert (
            turn(narrow, {**rest, "ack": []}, headers={"Idempotency-Key": part}).status_code == 200
        )
    answer = turn(world.narrowed(every, verbs("main", "claim")), parts)
    wanting = ["agent:main:memory", "agent:main:publish"]
    assert (answer.status_code, answer.json["required_scope"]) == (403, wanting[0])
    assert f'scope="{" ".join(wanting)}"' in answer.headers["WWW-Authenticate"]
    assert answer.json["detail"].startswith(f"This needs the scopes {' and '.join(wanting)}: ask")
    for project in ("other", "nowhere"):
        for body in (
            {"memory": [{"project": project, "key": "k", "value": 1}]},
            {"publish": [{**message(every), "project": project}]},
        ):
            assert turn(every, body, headers=KEY).status_code == 403


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"renew": []}, "/renew"),
        ({"ack": [{"event_id": "e", "claim_generation": 1}] * 2}, "/ack/1/event_id"),
        (
            {
                "ack": {"event_id": "e", "claim_generation": 1},
                "reject": {"event_id": "e", "claim_generation": 1, "reason": "no"},
            },
            "/reject/0/event_id",
        ),
        ({"memory": [{"project": "main", "key": "k"}]}, "/memory/0/value"),
        ({"memory": [{"project": "main", "key": "a\n", "value": 1}]}, "/memory/0/key"),
        ({"memory": [{"project": "main", "key": "k", "value": 1}] * 2}, "/memory/1/key"),
        (
            {"memory": [{"project": "main", "key": "k", "value": 1, "if_version": -1}]},
            "/memory/0/if_version",
        ),
        ({"publish": [{"project": "main", "payload": {}}]}, "/publish/0/recipients"),
        (
            {"publish": [{"recipients": ["a", "a"], "project": "main", "payload": {}}]},
            "/publish/0/recipients",
        ),
        (
            {"publish": [{"recipients": ["agt_" + "0" * 32], "project": "main", "payload": {}}]},
            "/publish/0/type",
        ),
        (
            {
                "publish": [
                    {
                        "recipients": ["agt_" + "0" * 32],
                        "project": "main",
                        "payload": {"type": "t"},
                        "available_at": "2031-05-01T09:30:00Z",
                        "expires_at": "2031-05-01T09:30:00Z",
                    }
                ]
            },
            None,
        ),
    ],
)
def test_what_is_no_turn(alice: Caller, body: Any, pointer: str | None) -> None:
    answer = turn(alice, body, headers=KEY)
    if pointer is None:  # who it is for comes first
        assert answer.status_code == 409
        return
    assert (answer.status_code, answer.json["type"]) == (422, "/problems/validation-error")
    assert pointer in [fault["pointer"] for fault in answer.json["errors"]]


def test_times_that_cannot_be_are_told_of_the_part(alice: Caller) -> None:
    instant = "2031-05-01T09:30:00Z"
    said = message(alice, available_at=instant, expires_at=instant)
    answer = turn(alice, {"publish": [message(alice), said]}, headers=KEY)
    assert answer.status_code == 422
    assert answer.json["errors"][0]["pointer"] == "/publish/1/expires_at"


def test_large_values_and_payloads_are_413(alice: Caller) -> None:
    large = "x" * (256 * 1024)
    for body in (
        {"memory": [{"project": "main", "key": "k", "value": large}]},
        {"publish": [message(alice, payload={"type": "t", "x": large})]},
    ):
        answer = turn(alice, body, headers=KEY)
        assert (answer.status_code, answer.json["type"]) == (413, "/problems/payload-too-large")
    assert answer.json["pointer"] == "/publish/0/payload"


def test_only_the_agent_itself_takes_turns(world: World, alice: Caller, bob: Caller) -> None:
    service = world.service("acme", "svc", ["tenant:memory:write", "tenant:events:publish"])
    for caller in (bob, service):
        assert caller.post(f"agents/{alice.id}/inbox/turn", {}).status_code == 404

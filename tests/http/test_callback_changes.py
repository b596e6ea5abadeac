"""What an agent does about a callback that is there."""

from __future__ import annotations

from typing import Any

from tests.http.administration import audited, faults
from tests.http.callbacks import (
    SECRET,
    Outside,
    http,
    problem,
    register,
    registered,
    right,
)
from tests.http.world import Caller, World, unknown_id, verbs

OTHER = "another secret, also of thirty-two bytes"


def test_another_address_starts_over_and_less_at_once_does_not(
    outside: Outside, hooked: Caller
) -> None:
    path = f"A/callbacks/{registered(hooked)}"
    same = hooked.call("PATCH", path, json={"max_in_flight": 2, "mode": "deliver"})
    assert (same.json["status"], same.json["max_in_flight"]) == ("pending_approval", 2)
    assert len(outside.receiver.requests) == 1
    outside.receiver.answering = lambda _: http(b"no")
    changed = hooked.call("PATCH", path, json={"url": "https://new.example.com"})
    assert (problem(changed)[1], changed.json["reason"]) == ("challenge-failed", "body")
    there = hooked.get(path).json
    assert (there["status"], there["url"]) == ("challenge_failed", "https://new.example.com/")
    assert there["challenged_at"] is None
    outside.receiver.answering = right()
    assert hooked.call("PATCH", path, json={"projects": ["main"]}).json["projects"] == ["main"]
    every = hooked.call("PATCH", path, json={"projects": None}).json
    assert (every["projects"], every["status"]) == (None, "pending_approval")


def test_a_challenge_is_answered_with_the_newest_secret(outside: Outside, hooked: Caller) -> None:
    path = f"A/callbacks/{registered(hooked)}"
    changed = hooked.post(f"{path}/secret", {"secret": OTHER})
    assert changed.status_code == 200
    assert OTHER not in changed.text
    assert hooked.post(f"{path}/challenge").json["reason"] == "signature"
    outside.receiver.answering = right(OTHER)
    assert hooked.post(f"{path}/challenge").json["status"] == "pending_approval"
    keyed = hooked.post(f"{path}/secret", {"secret": SECRET}, headers={"Idempotency-Key": "k"})
    assert faults(keyed) == ["Idempotency-Key"]


def test_a_removed_one_is_gone(outside: Outside, hooked: Caller) -> None:
    path = f"A/callbacks/{registered(hooked)}"
    removed = hooked.call("DELETE", path)
    assert (removed.status_code, removed.json["status"]) == (200, "removed")
    assert hooked.get("A/callbacks").json["callbacks"] == []
    for method, below in (("GET", ""), ("DELETE", ""), ("POST", "/challenge")):
        assert hooked.call(method, path + below).status_code == 404


def test_one_that_is_removed_or_changed_while_it_is_challenged(
    outside: Outside, hooked: Caller
) -> None:
    def meanwhile(told: dict[str, Any]) -> bytes:
        outside.receiver.answering = right()
        path = f"A/callbacks/{told['callback_id']}"
        hooked.call("PATCH", path, json={"mode": "notify"})
        return right()(told)

    outside.receiver.answering = meanwhile
    assert problem(register(hooked)) == (409, "callback-conflict")
    (there,) = hooked.get("A/callbacks").json["callbacks"]
    assert (there["mode"], there["status"]) == ("notify", "pending_approval")

    def gone(told: dict[str, Any]) -> bytes:
        assert hooked.call("DELETE", f"A/callbacks/{told['callback_id']}").status_code == 200
        return right()(told)

    outside.receiver.answering = gone
    assert register(hooked).status_code == 404


def test_an_agents_callbacks_are_its_own(world: World, outside: Outside, hooked: Caller) -> None:
    other = world.agent("acme", "neighbour", verbs("main", "callback"))
    mine = registered(hooked)
    for callback_id in (mine, unknown_id("cb"), "cb_nonsense", "x"):
        for method, below, body in (
            ("GET", "", None),
            ("PATCH", "", {"mode": "notify"}),
            ("DELETE", "", None),
            ("POST", "/challenge", None),
            ("POST", "/secret", {"secret": OTHER}),
        ):
            given = {} if body is None else {"json": body}
            answer = other.call(method, f"A/callbacks/{callback_id}{below}", **given)
            assert problem(answer) == (404, "not-found"), (method, below)
    assert other.get("A/callbacks").json["callbacks"] == []
    without = world.narrowed(hooked, verbs("main", "read"))
    assert problem(register(without)) == (403, "insufficient-scope")


def test_what_was_done_is_in_the_audit_and_no_secret_is(
    world: World, outside: Outside, hooked: Caller
) -> None:
    callback_id = registered(hooked, url="https://hooks.example.com/t0ps3cret")
    hooked.post(f"A/callbacks/{callback_id}/secret", {"secret": OTHER})
    hooked.call("DELETE", f"A/callbacks/{callback_id}")
    entries = [entry for entry in audited(world, by=hooked) if entry[0].startswith("callback.")]
    assert entries == [
        ("callback.register", callback_id, "deliver to hooks.example.com"),
        ("callback.challenge", callback_id, ""),
        ("callback.secret", callback_id, ""),
        ("callback.remove", callback_id, ""),
    ]

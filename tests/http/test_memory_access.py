"""Whose memory may be written and read by whom."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.http.world import Caller, World, unknown_id, verbs


def put(caller: Caller, key: str, value: Any, **given: Any) -> Any:
    return caller.call("PUT", f"A/memory/main/{quote(key)}", json={"value": value}, **given)


def test_others_write_and_the_agent_is_told(world: World, alice: Caller, bob: Caller) -> None:
    scribe = world.service("acme", "scribe", ["tenant:memory:write"])
    path = f"agents/{alice.id}/memory/main/k"
    assert bob.call("PUT", path, json={"value": 1}).json["version"] == 1
    assert scribe.call("PATCH", path, json={"merge": {"a": 1}}).json["version"] == 2
    assert scribe.call("DELETE", path).json["version"] == 3
    put(alice, "own", 1)
    alice.call("PUT", "A/memory/main/own?notify=true", json={"value": 2})
    events = alice.get("A/inbox").json["events"]
    assert [(e["type"], e["producer"]["id"], e["payload"]) for e in events] == [
        (
            "memory_update",
            by,
            {"type": "memory_update", "project": "main", "key": key, "version": n},
        )
        for by, key, n in (
            (bob.id, "k", 1),
            (scribe.id, "k", 2),
            (scribe.id, "k", 3),
            (alice.id, "own", 5),
        )
    ]


def test_who_may_write_what(world: World, alice: Caller, bob: Caller) -> None:
    reader = world.agent("acme", "reader", verbs("main", "read"))
    writer = world.agent("acme", "writer", verbs("other", "memory"))
    scribe = world.service("acme", "scribe", ["tenant:memory:write"])
    here = f"agents/{alice.id}/memory"
    for caller, slug in ((reader, "main"), (writer, "main"), (writer, "nowhere"), (bob, "other")):
        for method, body in (("PUT", {"value": 1}), ("PATCH", {"merge": {}}), ("DELETE", None)):
            answer = caller.call(method, f"{here}/{slug}/k", json=body)
            assert answer.status_code == 403, (method, slug)
            assert answer.json["required_scope"] == f"agent:{slug}:memory"
    assert scribe.call("PUT", f"{here}/nowhere/k", json={"value": 1}).status_code == 404
    # alice has nothing to do with `other`, and nobody of these names is here
    world.tenant("rival", "main")
    rival = world.agent("rival", "alice", verbs("main"))
    for agent_id, slug in (
        (alice.id, "other"),
        (rival.id, "main"),
        (unknown_id("agt"), "main"),
        ("agt_nonsense", "main"),
    ):
        path = f"agents/{agent_id}/memory/{slug}/k"
        answer = scribe.call("PUT", path, json={"value": 1})
        assert (answer.status_code, answer.json["type"]) == (404, "/problems/not-found")


def test_who_does_not_read_a_project_is_told_of_nothing_in_it(world: World) -> None:
    writer = world.agent("acme", "writer", verbs("main", "memory"))
    answer = writer.call("PUT", "A/memory/main/k?notify=true", json={"value": 1})
    assert (answer.status_code, answer.json["type"]) == (422, "/problems/recipient-refused")
    assert put(writer, "k", 1).json["version"] == 1


def test_nobody_else_reads(world: World, alice: Caller, bob: Caller) -> None:
    put(alice, "k", 1)
    scribe = world.service("acme", "scribe", ["tenant:memory:write"])
    for path in ("memory/main/k", "memory", "state"):
        for caller in (bob, scribe):
            assert caller.get(f"agents/{alice.id}/{path}").status_code == 404
    assert alice.get("A/memory/other/k").status_code == 403
    assert alice.get("A/memory?projects=other").status_code == 403
    assert alice.get("A/memory/nowhere/k").status_code == 403


@pytest.mark.parametrize(
    "slug", ['ma"in', "ma in", "ma\r\nX: y", "ma\u20acin", "ma\u00e9in", "ma\\in", "*"]
)
def test_what_is_no_project_is_refused_like_one_that_is_not_covered(
    alice: Caller, slug: str
) -> None:
    for method in ("GET", "PUT"):
        body = {"value": 1} if method == "PUT" else None
        answer = alice.call(method, f"A/memory/{quote(slug)}/k", json=body)
        assert (answer.status_code, answer.json["type"]) == (403, "/problems/insufficient-scope")
        challenge = answer.headers["WWW-Authenticate"]
        assert challenge.startswith('Bearer realm="restante", error="insufficient_scope"')
        assert challenge.count('"') == (6 if slug == "*" else 4)  # never text that breaks the field

"""Memory through the API: values byte for byte, versions as ETags, keys as addresses, who may what."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.http.world import Caller, World


def put(caller: Caller, key: str, value: Any, **given: Any) -> Any:
    return caller.call("PUT", f"A/memory/main/{quote(key)}", json={"value": value}, **given)


def test_a_value_comes_back_byte_for_byte(alice: Caller) -> None:
    value = '{ "n" : 1.50, "big": 123456789012345678901234567890, "t":"\\u00e4ä", "value": [1 ] }'
    body = f'{{ "value" :{value}}}'
    written = alice.call("PUT", "A/memory/main/k", data=body, content_type="application/json")
    assert (written.status_code, written.headers["ETag"]) == (200, '"1"')
    read = alice.get("A/memory/main/k")
    for answer in (written, read):
        assert f'"value":{value}' in answer.text
        assert answer.json | {"value": None, "updated_at": None} == {
            "project": "main",
            "key": "k",
            "value": None,
            "version": 1,
            "memory_revision": 1,
            "updated_at": None,
            "deleted": False,
        }
    assert (read.headers["ETag"], read.headers["Cache-Control"]) == ('"1"', "private, no-cache")


@pytest.mark.parametrize("value", [None, 0, False, "", [], {}, 1.5, "text", [1, {"a": None}]])
def test_any_json_is_a_value(alice: Caller, value: Any) -> None:
    assert put(alice, "k", value).json["value"] == value
    assert alice.get("A/memory/main/k").json["value"] == value


def test_null_is_not_deleted(alice: Caller) -> None:
    put(alice, "k", None)
    assert alice.get("A/memory/main/k").status_code == 200
    gone = alice.call("DELETE", "A/memory/main/k")
    assert (gone.status_code, gone.json["value"], gone.json["deleted"]) == (200, None, True)
    assert gone.json["version"] == 2
    for method in ("GET", "DELETE"):
        answer = alice.call(method, "A/memory/main/k")
        assert (answer.status_code, answer.json["type"]) == (404, "/problems/not-found")


def test_a_merge(alice: Caller) -> None:
    put(alice, "k", {"a": 1, "b": {"c": 2}})
    body = '{"merge":{"a":null,"b":{"d":3.10}}}'
    merged = alice.call("PATCH", "A/memory/main/k", data=body, content_type="application/json")
    assert '"value":{"b":{"c":2,"d":3.10}}' in merged.text
    assert merged.headers["ETag"] == '"2"'
    assert alice.call("PATCH", "A/memory/main/new", json={"merge": {"x": 1}}).json["value"] == {
        "x": 1
    }


@pytest.mark.parametrize(
    ("method", "body", "pointer"),
    [
        ("PUT", {}, "/value"),
        ("PUT", {"value": 1, "if_version": 1}, "/if_version"),
        ("PATCH", {}, "/merge"),
        ("PATCH", {"merge": None}, "/merge"),
        ("PATCH", {"merge": [1]}, "/merge"),
        ("PATCH", {"value": 1}, "/merge"),
    ],
)
def test_what_is_no_write(alice: Caller, method: str, body: Any, pointer: str) -> None:
    answer = alice.call(method, "A/memory/main/k", json=body)
    assert (answer.status_code, answer.json["type"]) == (422, "/problems/validation-error")
    assert pointer in [fault["pointer"] for fault in answer.json["errors"]]


def test_only_at_the_version_named(alice: Caller) -> None:
    first = put(alice, "k", 1, headers={"If-None-Match": "*"})
    assert first.status_code == 200
    tag = first.headers["ETag"]
    assert put(alice, "k", 2, headers={"If-Match": tag}).json["version"] == 2
    refused = [
        put(alice, "k", 3, headers={"If-Match": tag}),
        put(alice, "k", 3, headers={"If-None-Match": "*"}),
        put(alice, "k", 3, headers={"If-Match": 'W/"2"'}),
        put(alice, "k", 3, headers={"If-Match": '"other"'}),
        alice.call("DELETE", "A/memory/main/k", headers={"If-Match": tag}),
        alice.call("PATCH", "A/memory/main/k", json={"merge": {}}, headers={"If-Match": tag}),
    ]
    for answer in refused:
        assert (answer.status_code, answer.json["type"]) == (412, "/problems/version-conflict")
        assert answer.json["current_version"] == 2
    absent = put(alice, "l", 1, headers={"If-Match": "*"})
    assert (absent.status_code, absent.json["current_version"]) == (412, None)
    assert put(alice, "k", 3, headers={"If-Match": '"1", "2"'}).json["version"] == 3
    assert put(alice, "k", 4, headers={"If-Match": "*"}).json["version"] == 4


@pytest.mark.parametrize(
    "headers",
    [
        {"If-Match": "4"},
        {"If-Match": '"1'},
        {"If-Match": '"1",'},
        {"If-None-Match": '"1"'},
        {"If-Match": '"1"', "If-None-Match": "*"},
    ],
)
def test_conditions_that_say_nothing_are_422(alice: Caller, headers: dict[str, str]) -> None:
    answer = put(alice, "k", 1, headers=headers)
    assert answer.status_code == 422
    assert answer.json["errors"][0]["pointer"] in headers


def test_a_key_that_is_known_is_304(alice: Caller) -> None:
    put(alice, "k", 1)
    for known in ('"1"', 'W/"1"', '"0", "1"', "*"):
        answer = alice.get("A/memory/main/k", headers={"If-None-Match": known})
        assert (answer.status_code, answer.data, answer.headers["ETag"]) == (304, b"", '"1"')
    assert alice.get("A/memory/main/k", headers={"If-None-Match": '"11"'}).status_code == 200


KEYS = [
    "a/b",
    "a//b/",
    "a%2Fb",
    "a b",
    "a?b#c",
    "日本",
    "🗝",
    "k" * 200,
    "..a",
    "a/...",
    "a+b",
    "a;b",
    "/a",
]


@pytest.mark.parametrize("key", KEYS)
def test_keys_as_addresses(alice: Caller, key: str) -> None:
    for written in (quote(key), quote(key, safe="")):
        answer = alice.call("PUT", f"A/memory/main/{written}", json={"value": key})
        assert (answer.status_code, answer.json.get("key")) == (200, key), answer.text
    assert alice.get(f"A/memory/main/{quote(key)}").json["value"] == key
    assert [e["key"] for e in alice.get("A/memory").json["entries"]] == [key]


@pytest.mark.parametrize(
    "written", ["k" * 201, "a%0Ab", "a%7F", "%00", "%FF", "a/./b", "../b", "a/..", "%2E%2E"]
)
def test_keys_that_are_none(alice: Caller, written: str) -> None:
    answer = alice.call("PUT", f"A/memory/main/{written}", json={"value": 1})
    assert (answer.status_code, answer.json["errors"][0]["pointer"]) == (422, "key")
    assert alice.get(f"A/memory/main/{written}").status_code == 404


def test_no_key_is_no_address(alice: Caller) -> None:
    for path in ("A/memory/main", "A/memory/main/"):
        assert alice.call("PUT", path, json={"value": 1}).status_code == 404


def test_a_large_value_is_413(alice: Caller) -> None:
    answer = put(alice, "k", "x" * (256 * 1024))
    assert (answer.status_code, answer.json["type"]) == (413, "/problems/payload-too-large")
    assert answer.json["limit_bytes"] == 256 * 1024
    assert put(alice, "k", "x" * (256 * 1024 - 2)).status_code == 200


def test_changes_since_a_revision(world: World, alice: Caller) -> None:
    for key in ("a", "b", "c"):
        put(alice, key, key)
    alice.call("DELETE", "A/memory/main/a")
    first = alice.get("A/memory?limit=2").json
    assert [e["key"] for e in first["entries"]] == ["b", "c"]
    assert (first["memory_revision"], first["has_more"]) == (3, True)
    rest = alice.get("A/memory?after_revision=3").json
    assert [(e["key"], e["value"], e["deleted"], e["version"]) for e in rest["entries"]] == [
        ("a", None, True, 4)
    ]
    assert (rest["memory_revision"], rest["has_more"]) == (4, False)
    gone = alice.get("A/memory?after_revision=5")
    assert (gone.status_code, gone.json["type"]) == (410, "/problems/cursor-gone")
    assert (gone.json["reason"], gone.json["memory_revision"]) == ("epoch", 4)
    assert alice.get(gone.json["state_url"]).status_code == 200
    for wrong in ("-1", "x", "1.5"):
        assert alice.get(f"A/memory?after_revision={wrong}").status_code == 422


def test_what_a_write_costs(alice: Caller, bob: Caller, counted: Any) -> None:
    """An agent's own write, and another's, of which it is told by an event in its inbox."""
    put(alice, "k", 1)
    bob.call("PUT", f"agents/{alice.id}/memory/main/k", json={"value": 1})

    def tables(seen: list[str]) -> list[str]:
        return [f"{s.split()[0]} {t}" for s in seen for t in _tables_of(s)]

    with counted() as own:
        put(alice, "k", 2)
    assert tables(own) == [
        "SELECT agent_memory",
        "SELECT memory_entry",
        "UPDATE memory_entry",
        "UPDATE agent_memory",
    ]
    with counted() as told:
        bob.call("PUT", f"agents/{alice.id}/memory/main/k", json={"value": 3})
    assert tables(told) == [
        "SELECT inbox",
        "SELECT agent_memory",
        "SELECT memory_entry",
        "UPDATE memory_entry",
        "UPDATE agent_memory",
        "SELECT inbox",
        "INSERT agent_inbox",
        "INSERT event_content",
        "UPDATE inbox",
    ]


def _tables_of(statement: str) -> list[str]:
    words = statement.replace("(", " ").split()
    known = ("agent_memory", "memory_entry", "agent_inbox", "event_content", "inbox")
    return [word for word in words if word in known][:1]

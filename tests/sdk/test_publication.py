"""What a publication says on the wire."""

from __future__ import annotations

from restante_agent import Publication


def test_what_is_not_said_is_left_out() -> None:
    assert Publication(payload={"a": 1}, project="p").as_json() == {
        "project": "p",
        "payload": {"a": 1},
    }


def test_keys_go_as_they_are() -> None:
    said = Publication(
        payload={}, project="p", ordering_key="o", supersedes_key="price", idempotency_key="i"
    ).as_json()
    assert said["supersedes_key"] == "price"
    assert (said["ordering_key"], said["idempotency_key"]) == ("o", "i")

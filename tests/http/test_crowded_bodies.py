"""A body with more members and items than any valid one has is refused before each becomes a fault."""

from __future__ import annotations

import pytest

from tests.http.test_bodies import JSON, pointers, publication
from tests.http.world import Caller


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("claim", b"{" + b",".join(b'"%x":0' % number for number in range(50_001)) + b"}"),
        ("claim", b'{"projects":[' + b"{}," * 50_000 + b"{}]}"),
        ("settle", b'{"ack":[' + b'{"result":{}},' * 30_000 + b"{}]}"),
        ("settle", b'{"ack":' + b"[" * 900 + b"{}," * 50_000 + b"{}" + b"]" * 900 + b"}"),
    ],
    ids=["members", "items", "both", "far down"],
)
def test_a_body_of_very_many_members_and_items_is_not_looked_at(
    alice: Caller, path: str, body: bytes
) -> None:
    """Each would be a fault of its own: 8 MiB of them took a worker's gigabyte, and seconds."""
    answer = alice.post(f"A/inbox/{path}", data=body, content_type=JSON)
    assert pointers(answer) == [""]
    (fault,) = answer.json["errors"]
    assert fault["detail"] == "has more than 50,000 members and items, payloads not counted"


def test_payloads_may_have_as_many_as_they_hold(alice: Caller) -> None:
    body = publication(alice, payload={"type": "t", "items": [0] * 60_000})
    assert alice.post("events", body).status_code == 201

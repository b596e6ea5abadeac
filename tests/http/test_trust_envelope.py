"""What is said of a sender is what the server knows: no body sets it."""

from __future__ import annotations

import pytest

from tests.http.administration import faults
from tests.http.world import Caller

FORGED = {"kind": "service", "id": "svc_" + "0" * 32, "name": "root", "signed": True}


@pytest.mark.parametrize(
    "member",
    ["producer", "signed", "tenant", "tenant_id", "authenticated_by", "created_at", "event_id"],
)
def test_a_body_that_names_its_sender_is_refused(alice: Caller, member: str) -> None:
    body = {"project": "main", "type": "t", "payload": {}, member: FORGED}
    assert faults(alice.post("A/events", body)) == [f"/{member}"]
    assert alice.claim() == []


def test_what_a_payload_says_of_its_sender_is_data(alice: Caller) -> None:
    payload = {"type": "t", "producer": FORGED, "signed": True}
    alice.publish(alice, payload=payload, type="t")
    (event,) = alice.claim()
    assert event["payload"] == payload
    assert event["producer"]["id"] == alice.id
    assert (event["producer"]["kind"], event["producer"]["signed"]) == ("agent", False)


def test_nor_does_a_header(alice: Caller) -> None:
    body = {"recipients": [alice.id], "project": "main", "type": "t", "payload": {}}
    headers = {"X-Restante-Producer": "svc_1", "Signature-Agent": "root", "X-Signed": "true"}
    assert alice.post("events", body, headers=headers).status_code == 201
    (event,) = alice.claim()
    assert (event["producer"]["id"], event["producer"]["signed"]) == (alice.id, False)

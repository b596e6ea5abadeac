"""CloudEvents in and out, made and read by the official library."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http, to_structured
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent
from orjson import dumps, loads
from werkzeug.test import TestResponse

from tests.http.world import Caller

ONE, BATCH = "application/cloudevents+json", "application/cloudevents-batch+json"
FORMAT = JSONFormat()


def event(data: Any = None, **attributes: Any) -> CloudEvent:
    return CloudEvent(
        {
            "id": "build-512",
            "source": "https://ci.example/acme",
            "type": "build.finished",
            "time": datetime(2031, 5, 1, 9, 30, tzinfo=UTC),
            "restanteproject": "main",
            **attributes,
        },
        {"build": 512} if data is None else data,
    )


def send(caller: Caller, path: str, one: CloudEvent) -> TestResponse:
    message = to_structured(one, FORMAT)
    return caller.post(path, data=message.body, headers=dict(message.headers))


def sent_raw(caller: Caller, members: dict[str, Any], path: str = "A/events") -> TestResponse:
    return caller.post(path, data=dumps(members), headers={"Content-Type": ONE})


def read(answer: TestResponse) -> CloudEvent:
    assert (answer.status_code, answer.content_type) == (200, ONE), answer.text
    found = from_http(HTTPMessage(dict(answer.headers), answer.data), FORMAT)
    assert isinstance(found, CloudEvent)
    return found


def batch(answer: TestResponse) -> list[CloudEvent]:
    assert (answer.status_code, answer.content_type) == (200, BATCH), answer.text
    return [FORMAT.read(None, dumps(one)) for one in loads(answer.data)]


def test_one_that_is_published_is_the_payload_and_leaves_as_itself(alice: Caller) -> None:
    sent = event(
        subject="main", partitionkey="acme/site", correlationid="release", restantepriority=7
    )
    made = send(alice, "A/events", sent)
    assert made.status_code == 201, made.text
    event_id = made.json["events"][0]["event_id"]
    plain = alice.get(f"A/inbox/{event_id}").json
    assert (plain["type"], plain["ordering_key"], plain["correlation_id"], plain["priority"]) == (
        "build.finished",
        "acme/site",
        "release",
        7,
    )
    assert plain["payload"]["source"] == "https://ci.example/acme"
    assert not [name for name in plain["payload"] if name.startswith("restante")]
    left = read(alice.get(f"A/inbox/{event_id}", headers={"Accept": ONE}))
    assert left.get_data() == sent.get_data()
    for name in ("id", "source", "type", "time", "subject", "partitionkey", "correlationid"):
        assert left.get_attributes()[name] == sent.get_attributes()[name], name
    assert left.get_extension("restanteevent") == event_id
    assert left.get_extension("restantesender") == alice.id


def test_the_data_is_kept_byte_for_byte(alice: Caller) -> None:
    text = (
        b'{"specversion":"1.0","id":"1","source":"s","type":"t","restanteproject":"main",'
        b'"data": {"n": 123456789012345678901234567890, "e": 1.0e2} }'
    )
    made = alice.post("A/events", data=text, headers={"Content-Type": f"{ONE}; charset=utf-8"})
    assert made.status_code == 201, made.text
    event_id = made.json["events"][0]["event_id"]
    left = alice.get(f"A/inbox/{event_id}", headers={"Accept": ONE})
    assert b'"data":{"n": 123456789012345678901234567890, "e": 1.0e2}' in left.data


@pytest.mark.parametrize("data", ["text", [1, 2], 7, {"a": None}])
def test_data_may_be_any_json(alice: Caller, data: Any) -> None:
    members = {**loads(to_structured(event(), FORMAT).body), "data": data}
    made = sent_raw(alice, members)
    assert made.status_code == 201, made.text
    (claimed,) = alice.claim()
    assert claimed["payload"]["data"] == data


def test_source_and_id_publish_once(alice: Caller, bob: Caller) -> None:
    first = send(alice, "A/events", event()).json["events"][0]
    again = send(alice, "A/events", event()).json["events"][0]
    assert (again["event_id"], again["existing"]) == (first["event_id"], True)
    other = send(alice, "A/events", event({"build": 513}))
    assert other.json["type"] == "/problems/idempotency-key-reused"
    assert (
        send(alice, "A/events", event(id="build-513")).json["events"][0]["event_id"]
        != (first["event_id"])
    )
    to_both = send(alice, "events", event(restanterecipients=f"{alice.id}, {bob.id}", id="both"))
    assert [e["recipient_id"] for e in to_both.json["events"]] == [alice.id, bob.id]


def test_any_other_event_is_the_data_of_one(alice: Caller, ci: Caller) -> None:
    made = ci.publish(alice, payload={"n": 2**70}, ordering_key="k", expires_in_seconds=3600)
    (told,) = batch(alice.get("A/inbox", headers={"Accept": BATCH}))
    assert told.get_id() == made[0]["event_id"]
    assert told.get_source().endswith(f"/{ci.id}")
    assert told.get_data() == {"n": 2**70}
    assert told.get_extension("partitionkey") == "k"
    answer = alice.post("A/inbox/claim", {"lease_seconds": 60}, headers={"Accept": ONE})
    (claimed,) = batch(answer)
    assert claimed.get_extension("restantegeneration") == "1"
    assert claimed.get_extension("restantefence") == "1"
    assert 0 < claimed.get_extension("restanteleasems") <= 60_000
    assert answer.headers["Restante-Claim-Id"]
    assert answer.headers["Restante-Claimable"] == "0"
    (held,) = batch(alice.get("A/inbox/claims", headers={"Accept": BATCH}))
    assert held.get_id() == made[0]["event_id"]
    alice.post(
        f"A/inbox/{made[0]['event_id']}/ack", {"claim_generation": 1, "result": {"payload": 1}}
    )
    done = alice.get(f"A/inbox/{made[0]['event_id']}", headers={"Accept": ONE})
    assert read(done).get_extension("restantestatus") == "completed"


def test_a_page_says_in_fields_how_it_goes_on(alice: Caller) -> None:
    for n in range(3):
        alice.publish(alice, payload={"n": n})
    answer = alice.get("A/inbox?limit=2", headers={"Accept": f"{BATCH}, application/json;q=0.5"})
    assert len(batch(answer)) == 2
    assert answer.headers["Restante-Next-Cursor"] == "2"
    assert answer.headers["Restante-Has-More"] == "true"
    assert answer.headers["Restante-Epoch"]
    assert answer.headers["Vary"] == "Accept"
    plain = alice.get("A/inbox", headers={"Accept": f"application/json, {BATCH};q=0.5"})
    assert plain.content_type == "application/json"
    assert alice.get("A/inbox", headers={"Accept": "*/*"}).content_type == "application/json"


def test_a_payload_says_nothing_that_the_server_says(alice: Caller) -> None:
    forged = {
        "specversion": "1.0",
        "id": "1",
        "source": "s",
        "type": "t",
        "restantesender": "agt_root",
        "restantesigned": True,
    }
    alice.publish(alice, payload=forged)
    (told,) = batch(alice.get("A/inbox", headers={"Accept": BATCH}))
    assert told.get_extension("restantesender") == alice.id
    assert told.get_extension("restantesigned") is False
    assert told.get_data() == forged
    refused = sent_raw(alice, {**forged, "restanteproject": "main"})
    assert {fault["pointer"] for fault in refused.json["errors"]} == {
        "/restantesender",
        "/restantesigned",
    }


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"specversion": "0.3"}, "/specversion"),
    ({"id": ""}, "/id"),
    ({"source": None}, "/source"),
    ({"type": "t" * 129}, "/type"),
    ({"Upper": "x"}, "/Upper"),
    ({"nested": {"a": 1}}, "/nested"),
    ({"big": 2**31}, "/big"),
    ({"data_base64": "AA=="}, "/data_base64"),
    ({"restanteproject": None}, "/restanteproject"),
    ({"restanteproject": "no such/slug"}, "/restanteproject"),
    ({"restantepriority": 101}, "/restantepriority"),
    ({"restantepriority": "7"}, "/restantepriority"),
    ({"restanterecipients": "agt_1"}, "/restanterecipients"),
    ({"partitionkey": "k" * 201}, "/partitionkey"),
    ({"expirytime": "soon"}, "/expirytime"),
]


@pytest.mark.parametrize(("members", "pointer"), FAULTS, ids=lambda v: v if type(v) is str else "")
def test_what_is_wrong_is_named(alice: Caller, members: dict[str, Any], pointer: str) -> None:
    good = loads(to_structured(event(), FORMAT).body)
    answer = sent_raw(alice, {**good, **members})
    assert (answer.status_code, answer.json["type"]) == (422, "/problems/validation-error")
    assert [fault["pointer"] for fault in answer.json["errors"]] == [pointer]


def test_limits_and_rights_are_those_of_any_publication(alice: Caller, bob: Caller) -> None:
    big = sent_raw(alice, {**loads(to_structured(event(), FORMAT).body), "data": "x" * 300_000})
    assert (big.status_code, big.json["type"]) == (413, "/problems/payload-too-large")
    foreign = send(alice, "A/events", event(restanteproject="other"))
    assert (foreign.status_code, foreign.json["required_scope"]) == (403, "agent:other:publish")
    assert alice.post("A/events", data=b"[]", headers={"Content-Type": ONE}).status_code == 400
    elsewhere = bob.post("A/inbox/claim", data=b"{}", headers={"Content-Type": ONE})
    assert elsewhere.status_code == 415
    batched = alice.post("A/events", data=b"[]", headers={"Content-Type": BATCH})
    assert batched.status_code == 415

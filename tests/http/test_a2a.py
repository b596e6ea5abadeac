"""A2A push notifications, sent as the official library sends them, become events of an inbox."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from a2a.auth.user import UnauthenticatedUser
from a2a.server.context import ServerCallContext
from a2a.server.tasks.base_push_notification_sender import BasePushNotificationSender
from a2a.server.tasks.inmemory_push_notification_config_store import (
    InMemoryPushNotificationConfigStore,
)
from a2a.types.a2a_pb2 import (
    Artifact,
    Message,
    Part,
    Role,
    Task,
    TaskArtifactUpdateEvent,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from werkzeug.test import TestResponse

from restante.bridges.a2a_tokens import Receivers
from tests.http.world import Caller, World, unknown_id, verbs

FIELD = "X-A2A-Notification-Token"
PATH = "/api/v1/a2a/notifications"
TASK = "0198c5b2-7c3d-7e40-8f1a-2b3c4d5e6f70"
STATUS = {"statusUpdate": {"taskId": TASK, "contextId": "trip", "status": {"state": "X"}}}


@pytest.fixture
def travel(world: World, alice: Caller) -> Caller:
    """A service for the notifications of one A2A server."""
    return world.service("acme", "a2a-travel", ["tenant:events:publish"])


def receiver(caller: Caller, recipient: Caller, **said: Any) -> dict[str, str]:
    made = caller.post("a2a/receivers", {"recipient": recipient.id, "project": "main", **said})
    assert made.status_code == 201, made.text
    return dict(made.json)


def notify(caller: Caller, token: str, body: Any = None, **given: Any) -> TestResponse:
    given = given or {"json": STATUS if body is None else body}
    return caller.client.post(PATH, headers={FIELD: token, **given.pop("headers", {})}, **given)


def sent_by_the_library(world: World, made: dict[str, str], events: list[Any]) -> None:
    async def main() -> None:
        store = InMemoryPushNotificationConfigStore()
        context = ServerCallContext(user=UnauthenticatedUser())
        config = TaskPushNotificationConfig(id="one", url=made["url"], token=made["token"])
        await store.set_info(TASK, config, context)
        transport = httpx.MockTransport(lambda asked: forwarded(world, asked))
        async with httpx.AsyncClient(transport=transport) as client:
            sender = BasePushNotificationSender(client, store)
            for event in events:
                await sender.send_notification(TASK, event)

    asyncio.run(main())


def forwarded(world: World, asked: httpx.Request) -> httpx.Response:
    answer = world.client.open(
        asked.url.path, method=asked.method, headers=dict(asked.headers), data=asked.content
    )
    assert answer.status_code == 204, answer.text
    return httpx.Response(answer.status_code)


def test_what_becomes_of_a_task_is_mail_in_its_order(
    world: World, alice: Caller, travel: Caller
) -> None:
    made = receiver(travel, alice)
    assert made["url"].endswith(PATH)
    working = TaskStatus(state=TaskState.TASK_STATE_WORKING)
    done = TaskStatus(state=TaskState.TASK_STATE_COMPLETED)
    artifact = Artifact(artifact_id="1", parts=[Part(text="an itinerary")])
    sent_by_the_library(
        world,
        made,
        [
            Task(id=TASK, context_id="trip", status=working),
            TaskArtifactUpdateEvent(task_id=TASK, context_id="trip", artifact=artifact),
            TaskStatusUpdateEvent(task_id=TASK, context_id="trip", status=done),
        ],
    )
    kinds = []
    for _ in range(3):
        (event,) = alice.claim(limit=10)  # one at a time: they have the task's key
        kinds.append(event["type"])
        assert (event["correlation_id"], event["ordering_key"]) == (TASK, TASK)
        assert (event["producer"]["id"], event["producer"]["signed"]) == (travel.id, False)
        alice.post(f"A/inbox/{event['event_id']}/ack", {"claim_generation": 1})
    assert kinds == ["a2a.task", "a2a.artifact-update", "a2a.status-update"]
    assert event["payload"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_message_and_a_task_of_0_3(world: World, alice: Caller, travel: Caller) -> None:
    made = receiver(travel, alice)
    said = Message(message_id="m", context_id="trip", role=Role.ROLE_AGENT, parts=[Part(text="x")])
    sent_by_the_library(world, made, [said])
    old = {"kind": "task", "id": TASK, "contextId": "trip", "status": {"state": "completed"}}
    assert notify(alice, made["token"], old).status_code == 204
    first, second = alice.claim(limit=2)
    assert (first["type"], first["ordering_key"]) == ("a2a.message", "trip")
    assert (second["type"], second["payload"]) == ("a2a.task", old)


def test_every_token_that_does_not_hold_is_refused_alike(
    world: World, alice: Caller, travel: Caller
) -> None:
    made = receiver(travel, alice)
    token = made["token"]
    short = receiver(travel, alice, expires_in_seconds=60)["token"]
    spoilt = token[:-6] + ("A" if token[-6] != "A" else "B") + token[-5:]
    told = []
    for wrong in ("x", token + "=", token[5:], spoilt, "rsta_", travel.token, "rsta_é"):
        answer = notify(alice, wrong)
        assert answer.status_code == 401, wrong
        told.append({k: v for k, v in answer.json.items() if k != "request_id"})
    assert all(one == told[0] for one in told)
    assert notify(alice, "").json["type"] == "/problems/unauthenticated"
    receivers = Receivers(world.house.settings.secret_keys)
    now = world.house.authority.now()
    assert receivers.read(short, now=now) is not None
    assert receivers.read(short, now=now + 61) is None
    assert Receivers(["another key that is long enough to be one"]).read(token, now=now) is None
    # it opens nothing else
    bearer = {"Authorization": f"Bearer {token}"}
    assert alice.client.get(alice.address("A/inbox"), headers=bearer).status_code == 401


def test_it_ends_with_the_right_that_it_lends(world: World, ci: Caller) -> None:
    admin = world.service("acme", "admin", ["tenant:agents:write", "tenant:grants:write"])
    alice = world.agent("acme", "alice", verbs("main"))
    lender = world.agent("acme", "lender", verbs("main"))
    of_agent, of_service = receiver(lender, alice)["token"], receiver(ci, alice)["token"]
    assert notify(alice, of_agent).status_code == 204
    grants = {"grants": verbs("main", "read", "claim")}
    assert admin.call("PUT", f"admin/agents/{lender.id}/grants", json=grants).status_code == 200
    world.house.authority.expire(bytes.fromhex(lender.id[4:]))
    gone = notify(alice, of_agent)
    assert (gone.status_code, gone.json["required_scope"]) == (403, "agent:main:publish")
    admin.post(f"admin/agents/{lender.id}/disable", {})
    world.house.authority.expire(bytes.fromhex(lender.id[4:]))
    assert notify(alice, of_agent).status_code == 401
    assert notify(alice, of_service).status_code == 204


def revoked(caller: Caller, token: str) -> int:
    basic = (caller.id, caller.secret)
    answer = caller.client.post("/oauth/revoke", data={"token": token}, auth=basic)
    return answer.status_code


def test_one_token_ends_alone(world: World, alice: Caller, travel: Caller, ci: Caller) -> None:
    leaked, other = (receiver(travel, alice)["token"] for _ in range(2))
    assert revoked(ci, leaked) == 200, "it is not its own, and it is not told so"
    assert notify(alice, leaked).status_code == 204
    for _ in range(2):  # the repeat changes nothing
        assert revoked(travel, leaked) == 200
    gone, nonsense = notify(alice, leaked), notify(alice, "x")
    assert gone.status_code == 401
    assert gone.json["type"] == nonsense.json["type"]
    assert notify(alice, other).status_code == 204
    assert notify(alice, receiver(travel, alice)["token"]).status_code == 204
    audit = world.service("acme", "auditor", ["tenant:audit:read"])
    entries = audit.get("admin/audit?limit=100").json["entries"]
    told = [(e["target"], e["reason"]) for e in entries if e["action"] == "token.revoke"]
    assert told == [(travel.id, "a token for A2A notifications")]


def test_it_is_no_token_to_ask_about(alice: Caller, travel: Caller) -> None:
    token = receiver(travel, alice)["token"]
    asked = {"data": {"token": token}, "auth": (travel.id, travel.secret)}
    assert alice.client.post("/oauth/introspect", **asked).json == {"active": False}


def test_who_may_not_publish_there_gets_no_token(
    world: World, alice: Caller, bob: Caller, ci: Caller
) -> None:
    def refused(caller: Caller, **said: Any) -> dict[str, Any]:
        body = {"recipient": alice.id, "project": "main", **said}
        answer = caller.post("a2a/receivers", body)
        assert answer.status_code >= 400
        return dict(answer.json)

    assert refused(bob, project="other")["required_scope"] == "agent:other:publish"
    assert refused(ci, recipient=unknown_id("agt"))["type"] == "/problems/recipient-refused"
    assert refused(ci, expires_in_seconds=31 * 86_400)["errors"][0]["pointer"] == (
        "/expires_in_seconds"
    )
    reader = world.agent("acme", "reader", verbs("main", "read"))
    assert refused(reader)["type"] == "/problems/insufficient-scope"
    key = ci.post(
        "a2a/receivers",
        {"recipient": alice.id, "project": "main"},
        headers={"Idempotency-Key": "k"},
    )
    assert key.status_code == 422


WRONG: list[tuple[dict[str, Any], int]] = [
    ({"json": {}}, 422),
    ({"json": {"task": {}, "message": {}}}, 422),
    ({"json": {"task": "x"}}, 422),
    ({"json": {"task": {"id": 7}}}, 422),
    ({"json": {"task": {"id": "t" * 201}}}, 422),
    ({"json": {"task": {"id": "a\nb"}}}, 422),
    ({"json": [1]}, 422),
    ({"data": b"{", "headers": {"Content-Type": "application/json"}}, 400),
    ({"data": b'{},"x":{}', "headers": {"Content-Type": "application/json"}}, 400),
    ({"data": b"{}", "headers": {"Content-Type": "text/plain"}}, 415),
    ({"json": {"task": {"id": "t", "x": "x" * 300_000}}}, 413),
]


@pytest.mark.parametrize(("given", "status"), WRONG, ids=range(len(WRONG)))
def test_what_is_no_notification_is_refused(
    alice: Caller, ci: Caller, given: dict[str, Any], status: int
) -> None:
    token = receiver(ci, alice)["token"]
    answer = notify(alice, token, **given)
    assert answer.status_code == status, answer.text
    assert answer.content_type == "application/problem+json"
    assert alice.claim() == []

"""What was tried to deliver, as its agent and administrators read it."""

from __future__ import annotations

from typing import Any

from restante.identity.server_keys import Purpose, ServerKeys
from restante.webhooks.relay import Relay
from restante.webhooks.room import Room
from restante.webhooks.sealed import Secrets
from tests.http.administration import administrator
from tests.http.callbacks import Outside, decided, http, problem, registered
from tests.http.world import Caller, World, unknown_id, verbs
from tests.support.serving import SECRET_KEY
from workers.pruner import Pruner


def relay_of(outside: Outside) -> Relay:
    house = outside.world.house
    keys = ServerKeys([SECRET_KEY], Purpose.WEBHOOK)
    egress = house.challenger.egress
    return Relay(house.database, egress, Secrets([SECRET_KEY]), keys, clock=outside.clock)


def pass_once(outside: Outside) -> int:
    relay = relay_of(outside)
    return sum(relay.carry_out(turn) for turn in relay.take(Room()).turns)


def test_attempts_are_read_newest_first_until_retention(
    world: World, outside: Outside, hooked: Caller
) -> None:
    scopes = ("tenant:callbacks:read", "tenant:callbacks:write", "tenant:events:publish")
    admin = administrator(world, "acme", "admin", *scopes)
    callback_id = registered(hooked)
    decided(admin, callback_id, "approve")
    paths = (f"A/callbacks/{callback_id}/attempts", f"admin/callbacks/{callback_id}/attempts")
    assert hooked.get(paths[0]).json == {"attempts": [], "next_page_token": None}
    (event,) = admin.publish(hooked)
    outside.receiver.answering = lambda _: http(b"secret text", status=503)
    assert pass_once(outside) == 1
    outside.names._answers = [["10.0.0.1"]]
    world.pass_time(5)
    assert pass_once(outside) == 1
    outside.names._answers = [["93.184.215.14"]]
    outside.receiver.answering = lambda _: http(b"")
    world.pass_time(9)
    assert pass_once(outside) == 1
    first = hooked.get(f"{paths[0]}?limit=2").json
    rest = hooked.get(f"{paths[0]}?limit=2&page_token={first['next_page_token']}").json
    told: list[dict[str, Any]] = first["attempts"] + rest["attempts"]
    assert [(a["outcome"], a["status"], a["duration_ms"]) for a in told] == [
        ("delivered", 200, 0),
        ("failed", None, None),  # what the network does is one outcome, without a time
        ("failed", 503, 0),
    ]
    assert {(a["event_id"], a["attempt"]) for a in told} == {(event["event_id"], 1)}
    assert [a["next_try_at"] is None for a in told] == [True, False, False]
    assert rest["next_page_token"] is None
    assert admin.get(paths[1]).json["attempts"] == told
    assert "secret text" not in admin.get(paths[1]).text
    pruner = Pruner(world.house.database)
    assert pruner.run_once()["callback_attempt"] == 0
    world.pass_time(31 * 86400)
    assert pruner.run_once()["callback_attempt"] == 3


def test_they_are_those_of_whose_callback_it_is(
    world: World, outside: Outside, hooked: Caller
) -> None:
    callback_id = registered(hooked)
    other = world.agent("acme", "neighbour", verbs("main", "callback"))
    for unknown in (callback_id, unknown_id("cb"), "x"):
        assert problem(other.get(f"A/callbacks/{unknown}/attempts")) == (404, "not-found")
    token = hooked.get(f"A/callbacks/{callback_id}/attempts?page_token=x")
    assert problem(token) == (400, "page-token-invalid")


def test_a_callback_shows_how_its_receiver_stands(
    world: World, outside: Outside, hooked: Caller
) -> None:
    scopes = ("tenant:callbacks:read", "tenant:callbacks:write", "tenant:events:publish")
    admin = administrator(world, "acme", "admin", *scopes)
    callback_id = registered(hooked)
    decided(admin, callback_id, "approve")
    path = f"A/callbacks/{callback_id}"
    assert hooked.get(path).json["circuit"] == "closed"
    assert hooked.get(path).json["next_try_at"] is None
    admin.publish(hooked)
    outside.receiver.answering = lambda _: http(b"", status=500)
    pass_once(outside)
    told = hooked.get(path).json
    assert (told["circuit"], told["failures"]) == ("open", 1)
    assert told["failing_since"] < told["next_try_at"]
    (made,) = admin.publish(hooked)
    assert made["reachability"]["mode"] != "callback"
    decided(admin, callback_id, "suspend")
    told = hooked.get(path).json
    assert told["suspended_at"] is not None
    assert (told["next_try_at"], told["status_reason"]) == (None, "agreed")
    suspended = admin.get("admin/callbacks?status=suspended").json["callbacks"]
    assert [one["callback_id"] for one in suspended] == [callback_id]
    (event,) = [
        e for e in hooked.get("A/inbox").json["events"] if e["producer"]["kind"] == "server"
    ]
    assert event["payload"]["type"] == "callback_suspended"
    decided(admin, callback_id, "resume")
    told = hooked.get(path).json
    assert (told["circuit"], told["suspended_at"], told["failures"]) == ("closed", None, 0)
    assert admin.publish(hooked)[0]["reachability"]["mode"] == "callback"

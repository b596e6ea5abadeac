"""Services through the admin API, on each database; none raises itself through one it makes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.http.administration import ALL, administrator, audited, faults
from tests.http.world import Caller, World, open_world, unknown_id, verbs
from tests.support.databases import TestDatabase

PUBLISH = "tenant:events:publish"


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world, "acme", "admin", *ALL, PUBLISH)


def create(caller: Caller, name: str = "ci", *scopes: str, **given: Any) -> Any:
    return caller.post("admin/services", {"name": name, "scopes": scopes or [PUBLISH]}, **given)


def signed_in(world: World, made: dict[str, str], *scopes: str) -> Caller:
    """The service of an answer, with a token."""
    one = Caller(world.client, made["service_id"], made["client_secret"])
    return world.narrowed(one, list(scopes))


def token_status(world: World, made: dict[str, str]) -> int:
    pair = b64encode(f"{made['client_id']}:{made['client_secret']}".encode()).decode()
    return world.client.post(
        "/oauth/token",
        data={"grant_type": "client_credentials"},
        headers={"Authorization": f"Basic {pair}"},
    ).status_code


def later(world: World) -> None:
    """What is known of who calls is too old from now on."""
    for cell in world.house.authority._states._values.values():
        cell.expire()


def names(caller: Caller, query: str = "") -> list[str]:
    return [s["name"] for s in caller.get(f"admin/services{query}").json["services"]]


def test_a_service_is_made_and_does_what_its_scopes_say(world: World, admin: Caller) -> None:
    made = create(admin)
    assert made.status_code == 201, made.text
    assert made.json.keys() == {"service_id", "client_id", "client_secret"}
    assert made.json["service_id"] == made.json["client_id"]
    assert made.headers["Cache-Control"] == "no-store"
    alice = world.agent("acme", "alice", verbs("main"))
    signed_in(world, made.json, PUBLISH).publish(alice)
    service_id = made.json["service_id"]
    one = admin.get(f"admin/services/{service_id}")
    assert one.json == {
        "service_id": service_id,
        "name": "ci",
        "status": "active",
        "created_at": one.json["created_at"],
        "scopes": [PUBLISH],
    }
    assert names(admin) == ["admin", "ci"]
    assert audited(world, by=admin) == [
        ("service.create", service_id, "ci"),
        ("grant.assign", service_id, PUBLISH),
    ]
    for answer in (one, admin.get("admin/services"), admin.get("admin/audit?limit=1000")):
        assert made.json["client_secret"] not in answer.text


def test_a_name_is_taken_once(world: World, admin: Caller) -> None:
    assert create(admin).status_code == 201
    answer = create(admin)
    assert faults(answer) == ["/name"]
    assert "already" in answer.json["errors"][0]["detail"]
    assert names(admin) == ["admin", "ci"]


def test_of_two_that_make_one_name_at_once_one_does(world: World, admin: Caller) -> None:
    def make(_: int) -> int:
        return create(replace(admin, client=world.app.test_client())).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, range(4))) == [201, 422, 422, 422]
    assert names(admin) == ["admin", "ci"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"scopes": [PUBLISH]}, "/name"),
        ({"name": "", "scopes": [PUBLISH]}, "/name"),
        ({"name": " ci", "scopes": [PUBLISH]}, "/name"),
        ({"name": "svc_" + "0" * 32, "scopes": [PUBLISH]}, "/name"),
        ({"name": "ci"}, "/scopes"),
        ({"name": "ci", "scopes": []}, "/scopes"),
        ({"name": "ci", "scopes": PUBLISH}, "/scopes"),
        ({"name": "ci", "scopes": [PUBLISH, "nonsense"]}, "/scopes/1"),
        ({"name": "ci", "scopes": ["agent:nothing:publish"]}, "/scopes/0"),
        ({"name": "ci", "scopes": ["agent:*:publish"]}, "/scopes/0"),
        ({"name": "ci", "scopes": [PUBLISH], "secret": "mine"}, "/secret"),
    ],
)
def test_what_is_refused_makes_nothing(
    world: World, admin: Caller, body: dict[str, Any], pointer: str
) -> None:
    assert faults(admin.post("admin/services", body)) == [pointer]
    assert names(admin) == ["admin"]
    assert audited(world, by=admin) == []


def test_no_idempotency_key_where_the_answer_is_a_secret(admin: Caller) -> None:
    assert faults(create(admin, headers={"Idempotency-Key": "k"})) == ["Idempotency-Key"]
    assert names(admin) == ["admin"]


@pytest.mark.parametrize(
    ("held", "given", "missing"),
    [
        (["tenant:agents:write"], PUBLISH, "tenant:grants:write"),
        (["tenant:agents:write", PUBLISH], PUBLISH, "tenant:grants:write"),
        (["tenant:grants:write", PUBLISH], PUBLISH, "tenant:agents:write"),
        (["tenant:agents:write", "tenant:grants:write"], PUBLISH, PUBLISH),
        (["tenant:agents:write", "tenant:grants:write"], "tenant:audit:read", "tenant:audit:read"),
        (
            ["tenant:agents:write", "tenant:grants:write", "agent:main:publish"],
            "agent:other:publish",
            "agent:other:publish",
        ),
        (
            ["tenant:agents:write", "tenant:grants:write", "agent:main:publish"],
            "agent:main:read",
            "agent:main:read",
        ),
        (
            ["tenant:agents:write", "tenant:grants:write", "agent:main:publish"],
            PUBLISH,
            PUBLISH,
        ),
    ],
)
def test_nothing_is_given_that_is_not_held(
    world: World, held: list[str], given: str, missing: str
) -> None:
    giver = administrator(world, "acme", "giver", *held)
    answer = create(giver, "ci", given)
    assert (answer.status_code, answer.json["type"]) == (403, "/problems/insufficient-scope")
    assert answer.json["required_scope"] == missing
    refusal = ("request.refuse", "POST /api/v1/admin/services", answer.json["detail"])
    assert audited(world, by=giver) == [refusal]
    reader = administrator(world, "acme", "reader", "tenant:agents:read")
    assert names(reader) == ["giver", "reader"]


@pytest.mark.parametrize(
    ("held", "given"),
    [
        (["agent:main:publish"], "agent:main:publish"),
        ([PUBLISH], "agent:main:publish"),
        ([PUBLISH], PUBLISH),
        ([], "tenant:grants:write"),
    ],
)
def test_what_is_held_can_be_given(world: World, held: list[str], given: str) -> None:
    giver = administrator(
        world, "acme", "giver", "tenant:agents:write", "tenant:grants:write", *held
    )
    assert create(giver, "ci", given).status_code == 201


def test_it_is_the_token_that_holds_and_not_its_service(world: World, admin: Caller) -> None:
    narrow = world.narrowed(admin, ["tenant:agents:write", "tenant:grants:write"])
    answer = create(narrow)
    assert (answer.status_code, answer.json["required_scope"]) == (403, PUBLISH)


def test_disabled_enabled_removed(world: World, admin: Caller) -> None:
    made = create(admin).json
    service_id = made["service_id"]
    ci = signed_in(world, made, PUBLISH)

    def become(what: str, status: str) -> None:
        for _ in range(2):  # the second changes nothing
            answer = admin.post(f"admin/services/{service_id}/{what}")
            assert (answer.status_code, answer.json["status"]) == (200, status), answer.text
        later(world)
        good = status == "active"
        assert token_status(world, made) == (200 if good else 401)
        assert ci.get("events?correlation_id=c").status_code == (200 if good else 401)

    become("disable", "disabled")
    become("enable", "active")
    become("disable", "disabled")
    become("remove", "removed")
    for what in ("enable", "disable"):
        answer = admin.post(f"admin/services/{service_id}/{what}", {})
        assert (answer.status_code, answer.json["type"]) == (404, "/problems/not-found")
    assert token_status(world, made) == 401
    told = admin.get(f"admin/services/{service_id}").json
    assert (told["status"], told["scopes"]) == ("removed", [])
    assert names(admin) == ["admin"]
    assert names(admin, "?status=removed") == ["ci"]
    assert faults(create(admin)) == ["/name"]
    assert [entry[0] for entry in audited(world, by=admin)] == [
        *("service.create", "grant.assign", "service.disable", "service.enable"),
        *("service.disable", "service.remove"),
    ]
    assert {entry[1] for entry in audited(world, by=admin)} == {service_id}


def test_services_of_others_are_like_those_that_are_not_there(world: World, admin: Caller) -> None:
    world.tenant("rival", "main")
    rival = administrator(world, "rival", "admin", *ALL, PUBLISH)
    theirs = create(rival).json["service_id"]
    alice = world.agent("acme", "alice", verbs("main"))
    for method, what in (
        ("GET", ""),
        *(("POST", f"/{verb}") for verb in ("disable", "enable", "remove")),
    ):
        bodies = []
        for name in (theirs, unknown_id("svc"), "nonsense", alice.id, theirs.upper(), "%C3%A9"):
            answer = admin.call(method, f"admin/services/{name}{what}")
            assert answer.status_code == 404, (name, what)
            bodies.append({**answer.json, "instance": "", "request_id": ""})
        assert all(body == bodies[0] for body in bodies)
    assert names(rival) == ["admin", "ci"]
    assert names(admin) == ["admin"]
    token = rival.get("admin/services?limit=1").json["next_page_token"]
    foreign = admin.get(f"admin/services?limit=1&page_token={token}")
    assert (foreign.status_code, foreign.json["type"]) == (400, "/problems/page-token-invalid")


def test_services_are_listed_in_pages_and_by_name(world: World, admin: Caller) -> None:
    for number in range(4):
        create(admin, f"s{number}")
    page = admin.get("admin/services?limit=3").json
    rest = admin.get(f"admin/services?limit=3&page_token={page['next_page_token']}").json
    found = [s["name"] for s in page["services"] + rest["services"]]
    assert found == ["admin", "s0", "s1", "s2", "s3"]
    assert rest["next_page_token"] is None
    assert names(admin, "?name=s2") == ["s2"]
    assert names(admin, "?name=s2%20") == []
    assert faults(admin.get("admin/services?status=gone")) == ["status"]


def test_reading_takes_read_and_changing_takes_write(world: World, admin: Caller) -> None:
    service_id = create(admin).json["service_id"]
    reader = administrator(world, "acme", "reader", "tenant:agents:read")
    granter = administrator(world, "acme", "granter", "tenant:grants:write", PUBLISH)
    assert reader.get(f"admin/services/{service_id}").status_code == 200
    for caller in (reader, granter):
        for what in ("disable", "enable", "remove"):
            answer = caller.post(f"admin/services/{service_id}/{what}")
            assert (answer.status_code, answer.json["required_scope"]) == (
                403,
                "tenant:agents:write",
            )
        assert create(caller, "x").status_code == 403
    assert granter.get("admin/services").status_code == 403

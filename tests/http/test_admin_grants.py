"""What agents may do, through the admin API, on each database; and that nobody raises himself by it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.http.administration import administrator, audited, faults, let_states_age
from tests.http.world import Caller, World, open_world, verbs
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world)


def replace(caller: Caller, agent: Caller, *grants: Any) -> Any:
    return caller.call("PUT", f"admin/agents/{agent.id}/grants", json={"grants": list(grants)})


def held(caller: Caller, agent: Caller) -> list[str]:
    found: list[str] = caller.get(f"admin/agents/{agent.id}/grants").json["grants"]
    return found


def test_grants_are_said_anew(world: World, admin: Caller, alice: Caller) -> None:
    alice.publish(alice)
    answer = replace(
        admin, alice, "agent:other:read", "agent:main:read", "agent:*:publish", "agent:main:read"
    )
    assert answer.status_code == 200, answer.text
    now = ["agent:*:publish", "agent:main:read", "agent:other:read"]
    assert answer.json == {"agent_id": alice.id, "grants": now}
    assert held(admin, alice) == now
    let_states_age(world)
    # what was taken away is gone from the token that is out, what was given is in the next
    assert alice.post("A/inbox/claim", {}).status_code == 403
    assert len(alice.get("A/inbox").json["events"]) == 1
    assert alice.get("A/inbox?projects=other").status_code == 403
    newer = world.narrowed(alice, verbs("other", "read", "publish"))
    assert newer.get("A/inbox?projects=other").status_code == 200
    gone = sorted({*verbs("main")} - {"agent:main:read"})
    assert audited(world, by=admin) == [
        ("grant.assign", alice.id, f"withdrawn: {', '.join(gone)}"),
        ("grant.assign", alice.id, "given: agent:*:publish, agent:other:read"),
    ]


def test_what_is_as_it_was_is_no_change(world: World, admin: Caller, alice: Caller) -> None:
    assert replace(admin, alice, *verbs("main")).json["grants"] == sorted(verbs("main"))
    assert audited(world, by=admin) == []


def test_all_may_be_taken_away(world: World, admin: Caller, alice: Caller) -> None:
    assert replace(admin, alice).json["grants"] == []
    let_states_age(world)
    assert alice.get("A/inbox").status_code == 403
    assert len(audited(world, by=admin)) == 1


@pytest.mark.parametrize(
    ("grants", "pointer"),
    [
        (["agent:main:read", "agent:nope:read"], "/grants/1"),
        (["agent:main:write"], "/grants/0"),
        (["tenant:agents:write"], "/grants/0"),
        (["agent:MAIN:read"], "/grants/0"),
        ([7], "/grants/0"),
        (["x" * 97], "/grants/0"),
        ([f"agent:main:read{n}" for n in range(201)], "/grants"),
    ],
)
def test_what_cannot_be_granted(
    world: World, admin: Caller, alice: Caller, grants: list[Any], pointer: str
) -> None:
    assert faults(replace(admin, alice, *grants)) == [pointer]
    assert held(admin, alice) == sorted(verbs("main"))
    assert audited(world, by=admin) == []


def test_another_tenants_project_is_none(world: World, admin: Caller, alice: Caller) -> None:
    world.tenant("rival", "theirs")
    answer = replace(admin, alice, "agent:theirs:read")
    absent = replace(admin, alice, "agent:absent:read")
    assert faults(answer) == faults(absent) == ["/grants/0"]
    assert answer.json["errors"][0]["detail"] == absent.json["errors"][0]["detail"].replace(
        "absent", "theirs"
    )


def test_the_audit_tells_all_of_many(world: World, admin: Caller, alice: Caller) -> None:
    for number in range(20):
        admin.post("admin/projects", {"slug": f"a-project-of-number-{number:03}"})
    given = [f"agent:a-project-of-number-{number:03}:read" for number in range(20)]
    replace(admin, alice, *verbs("main"), *given)
    told = [reason for action, _, reason in audited(world, by=admin) if action == "grant.assign"]
    assert len(told) > 1
    assert all(reason.startswith("given: ") for reason in told)
    assert [scope for reason in told for scope in reason[7:].split(", ")] == given


def test_of_two_that_say_it_at_once_one_is_right(
    world: World, admin: Caller, alice: Caller
) -> None:
    """Never a mixture: each says all."""
    sides = [verbs("main", "read", "claim"), verbs("other", "publish", "memory")]

    def say(number: int) -> tuple[int, list[str]]:
        one = Caller(world.app.test_client(), admin.id, admin.secret, admin.token)
        answer = replace(one, alice, *sides[number % 2])
        return answer.status_code, answer.json.get("grants")

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(say, range(8)))
    assert {status for status, _ in answers} == {200}
    assert all(grants == sorted(sides[number % 2]) for number, (_, grants) in enumerate(answers))
    assert held(admin, alice) in [sorted(side) for side in sides]


def test_who_assigns_grants_cannot_raise_himself(world: World, alice: Caller) -> None:
    """Services have none here, an agent can be given no `tenant:` scope, and his own stay as they were."""
    granter = administrator(world, "acme", "granter", "tenant:grants:write")
    path = f"admin/agents/{granter.id}/grants"
    assert granter.call("PUT", path, json={"grants": []}).status_code == 404
    path = f"admin/services/{granter.id}/grants"
    assert granter.call("PUT", path, json={"grants": []}).status_code == 404
    assert faults(replace(granter, alice, "tenant:grants:write")) == ["/grants/0"]
    assert replace(granter, alice, "agent:*:publish").status_code == 200
    # to be that agent takes one of its credentials, and those are not his to make
    for body in ({"type": "client_secret"}, {"name": "mine", "grants": verbs("main")}):
        below = "admin/agents" if "name" in body else f"admin/agents/{alice.id}/credentials"
        refused = granter.post(below, body)
        assert (refused.status_code, refused.json["required_scope"]) == (403, "tenant:agents:write")


def test_who_makes_agents_gives_them_nothing(world: World, alice: Caller) -> None:
    maker = administrator(world, "acme", "maker", "tenant:agents:write")
    refused = maker.post("admin/agents", {"name": "mine", "grants": verbs("main", "read")})
    assert (refused.status_code, refused.json["required_scope"]) == (403, "tenant:grants:write")
    assert maker.post("admin/agents", {"name": "mine", "grants": []}).status_code == 201
    refused = replace(maker, alice, *verbs("main"))
    assert (refused.status_code, refused.json["required_scope"]) == (403, "tenant:grants:write")
    told = [action for action, _, _ in audited(world, by=maker)]
    # the second refusal of its kind within a minute is no second entry
    assert sorted(told) == ["agent.create", "grant.assign", "request.refuse"]

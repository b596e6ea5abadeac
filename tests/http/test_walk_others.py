"""What is another's: of another tenant, of another agent of one's own, and a service at an agent's address.

It answers like what is not there, in the same words, and stays as it is.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.http.administration import let_states_age
from tests.http.household import Household, settle_in
from tests.http.walk import CALLS, OF_PATHS, Ids, Route, routes
from tests.http.walking import Watch, told
from tests.http.world import World

A = "/api/v1/agents/<agent_id>"
SHARED = {("POST", f"{A}/events")} | {
    (method, f"{A}/memory/<project>/<key:key>") for method in ("PUT", "PATCH", "DELETE")
}
"""What another principal of the tenant may call."""
MEMBER = "/api/v1/rooms/<room_id>/members/<agent_id>"
NOT_404 = {
    ("PUT", MEMBER, "other"): 422,  # a recipient that is refused, whether it is there or not
    ("DELETE", MEMBER, "agent_id"): 200,  # who is no member is none afterwards
}
OPEN_TO_NEIGHBOURS = {
    "/api/v1/assignments/<assignment_id>",
    "/api/v1/assignments/<assignment_id>/cancel",
}
"""Who may publish in a project sees and ends its assignments."""


@pytest.fixture
def home(world: World) -> Household:
    return settle_in(world, "acme", "alice")


@pytest.fixture
def neighbour(world: World) -> Household:
    return settle_in(world, "acme", "bob")


@pytest.fixture
def rival(world: World) -> Household:
    world.tenant("rival", "main", "other")
    return settle_in(world, "rival", "rita")


def mixed(route: Route, own: Ids, foreign: Ids) -> list[tuple[str, Ids]]:
    """The own ids with one of the path's exchanged, and with all."""
    names = route.good.names(route.rule)
    one = [(name, replace(own, **{name: getattr(foreign, name)})) for name in names]
    every = replace(own, **{name: getattr(foreign, name) for name in names})
    return [*one, ("all", every)] if len(names) > 1 else one


def expected(route: Route, name: str) -> tuple[int, ...]:
    if (route.method, route.rule) in SHARED:
        return 404, 422
    return (NOT_404.get((route.method, route.rule, name), 404),)


def is_own(route: Route, name: str) -> bool:
    """Whether another's id there is another agent's address, which is an entry of the audit."""
    return route.access.own and name in ("agent_id", "all")


def test_what_is_of_another_tenant_is_not_there(
    world: World, home: Household, rival: Household
) -> None:
    watch, absent, compared = Watch(world), Ids(), 0
    for route in routes(world.app):
        caller = home.caller(route)
        for name, ids in mixed(route, home.ids, rival.ids):
            what = (str(route), name)
            with watch.nothing_changes(what), watch.audits(is_own(route, name), what):
                foreign = told(route.call(caller, ids))
            nobodys = told(route.call(caller, dict(mixed(route, home.ids, absent))[name]))
            assert foreign == nobodys, what
            assert foreign["status"] in expected(route, name), (what, foreign)
            compared += 1
        with watch.nothing_changes(str(route)):
            pass
    assert compared > 80


def test_what_is_of_another_agent_is_not_there(
    world: World, home: Household, neighbour: Household
) -> None:
    watch, absent, compared = Watch(world), Ids(), 0
    for route in routes(world.app):
        if route.administers or route.rule in OPEN_TO_NEIGHBOURS:
            continue
        for name, ids in mixed(route, home.ids, neighbour.ids):
            if (route.method, route.rule) in SHARED or (route.rule, name) == (MEMBER, "other"):
                continue  # that is what it is for
            what = (str(route), name)
            with watch.nothing_changes(what), watch.audits(is_own(route, name), what):
                foreign = told(route.call(home.agent, ids))
            nobodys = told(route.call(home.agent, dict(mixed(route, home.ids, absent))[name]))
            assert foreign == nobodys, what
            assert foreign["status"] in expected(route, name), (what, foreign)
            compared += 1
    assert compared > 30


@pytest.mark.parametrize("nonsense", ["nonsense", "%C3%A9", "x" * 300])
def test_what_is_no_id_is_not_there(world: World, home: Household, nonsense: str) -> None:
    absent = Ids()
    none = replace(absent, **dict.fromkeys(OF_PATHS, nonsense))
    for route in routes(world.app):
        for name, ids in mixed(route, home.ids, none):
            if "credential" in name or name == "all":
                continue
            answer = told(route.call(home.caller(route), ids))
            other = dict(mixed(route, home.ids, absent))[name]
            assert answer == told(route.call(home.caller(route), other)), (str(route), name)


def test_ids_of_another_tenant_in_a_body_are_nobodys(
    world: World, home: Household, rival: Household
) -> None:
    """Recipients, members, candidates and events that are named in what is said."""
    watch, compared = Watch(world), 0
    for route in routes(world.app):
        if route.good.body is None or route.good.body(rival.ids) == route.good.body(home.ids):
            continue
        path = route.good.path(route.rule, home.ids)
        answers: list[str] = []
        for ids in (rival.ids, Ids()):
            answer = home.caller(route).call(
                route.method,
                path,
                json=route.good.body(ids),
                headers={
                    name: f"{value}-{ids.other}" for name, value in route.good.headers.items()
                },
            )
            answers.append(named(told(answer), ids))
        assert answers[0] == answers[1], str(route)
        with watch.nothing_changes(str(route)):
            pass
        compared += 1
    assert compared >= 5


def named(answer: dict[str, Any], ids: Ids) -> str:
    """What it tells, with the names of the ids that the caller has said instead of these."""
    text = json.dumps(answer)
    for name, value in vars(ids).items():
        text = text.replace(value, name) if "_" in value else text
    return text


def test_a_service_has_no_address_of_an_agent(world: World, home: Household) -> None:
    watch, tried = Watch(world), 0
    for route in routes(world.app):
        if not route.access.own:
            continue
        with watch.nothing_changes(str(route)), watch.audits(1, str(route)):
            answer = told(route.call(home.boss, home.ids))
        assert answer == told(route.call(home.boss, Ids())), str(route)
        assert answer["status"] == 404, (str(route), answer)
        tried += 1
    assert tried > 20


def test_what_is_not_signed_changes_nothing_where_it_has_to_be(
    world: World, home: Household
) -> None:
    """What agents say by unsafe methods, but the making of a key; not what services say."""
    assert (
        home.boss.call("PATCH", "admin/tenant", json={"require_signatures": True}).status_code
        == 200
    )
    let_states_age(world)
    watch = Watch(world)
    for route in routes(world.app):
        if route.administers or route.method == "GET":
            continue
        if (route.method, route.rule) == ("POST", f"{A}/signing-keys"):
            continue
        with watch.nothing_changes(str(route)), watch.audits(1, str(route)):
            answer = route.call(home.agent, home.ids)
        assert answer.status_code == 401, (str(route), answer.text)
        assert answer.json["type"] == "/problems/signature-missing"
        assert answer.headers["Accept-Signature"]
    for route in routes(world.app):
        key = (route.method, route.rule)
        if route.method == "GET" or key == ("POST", f"{A}/signing-keys"):
            answer = route.call(home.caller(route), home.ids)
            assert answer.status_code in (200, 201), (str(route), answer.text)
    assert ("POST", f"{A}/signing-keys") in CALLS

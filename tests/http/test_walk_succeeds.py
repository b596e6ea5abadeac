"""The calls that the walks spoil succeed as they are, so that each refusal is for what was spoilt."""

from __future__ import annotations

from tests.http.household import settle_in
from tests.http.walk import CALLS, routes, token_rules
from tests.http.world import World


def test_every_route_has_its_call_and_every_call_its_route(world: World) -> None:
    there = {(method, rule.rule) for rule, method, _ in token_rules(world.app)}
    assert there - CALLS.keys() == set(), "add these to CALLS in tests/http/walk.py"
    assert CALLS.keys() - there == set()


def test_each_succeeds(world: World) -> None:
    for number, route in enumerate(routes(world.app)):
        house = settle_in(world, "acme", f"n{number}")
        answer = route.call(house.caller(route), house.ids)
        assert answer.status_code in (200, 201, 202), (str(route), answer.text)

"""Every route with a token: without one, with each that must not be taken, and without the scope."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import delete

from restante.identity.scopes import TenantScope, Verb
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.identity import granted_scope
from tests.http.administration import let_states_age
from tests.http.bad_tokens import bad_credentials, remove_key
from tests.http.household import Household, settle_in
from tests.http.walk import ALL_TENANT, ALL_VERBS, Route, routes
from tests.http.walking import Watch
from tests.http.world import Caller, World, verbs


@pytest.fixture
def home(world: World) -> Household:
    return settle_in(world, "acme", "alice")


def refused(answer: Any, status: int, slug: str, what: object) -> None:
    assert (answer.status_code, answer.json["type"]) == (status, f"/problems/{slug}"), what


def test_no_route_takes_a_bad_token(world: World, home: Household) -> None:
    old = (home.agent.token, home.boss.token)
    remove_key(world, home.agent.token)
    agent = world.narrowed(home.agent, verbs("main", *ALL_VERBS))
    boss = world.narrowed(home.boss, ALL_TENANT)
    bad = {
        who.id: list(bad_credentials(world, who, removed=token))
        for who, token in zip((agent, boss), old, strict=True)
    }
    let_states_age(world)
    watch = Watch(world)
    for route in routes(world.app):
        who = home.caller(route)
        for kind in bad[who.id]:
            what = (str(route), kind.name)
            with watch.audits(kind.audited, what):
                answer = route.call(who, home.ids, headers=kind.headers)
            refused(answer, kind.status, kind.problem, what)
            if kind.status == 401:
                assert kind.error in answer.headers["WWW-Authenticate"], what
                assert (kind.name in ("none", "of another scheme")) == (
                    "error" not in answer.headers["WWW-Authenticate"]
                ), what
        path = route.good.path(route.rule, home.ids)
        query = f"{'&' if '?' in path else '?'}access_token={who.token}"
        answer = who.call(route.method, path + query, **route.given(home.ids))
        refused(answer, 400, "ambiguous-credentials", str(route))
        with watch.nothing_changes(str(route)):
            pass


def test_none_takes_the_token_of_who_is_disabled(world: World, home: Household) -> None:
    admin = world.service("acme", "admin", ["tenant:agents:write"])
    for kind, who in (("agents", home.agent), ("services", home.boss)):
        assert admin.post(f"admin/{kind}/{who.id}/disable").status_code == 200
    let_states_age(world)
    watch = Watch(world)
    for route in routes(world.app):
        with watch.nothing_changes(str(route)), watch.audits(1, str(route)):
            answer = route.call(home.caller(route), home.ids)
        refused(answer, 401, "unauthenticated", str(route))


def test_each_takes_one_of_its_scopes(world: World, home: Household) -> None:
    """A token with all others but those it names opens nothing, whatever is said to it."""
    watch, tried = Watch(world), 0
    for route in routes(world.app):
        without = lacking(world, home, route)
        if without is None:
            continue  # any scope is enough there: see what is granted no more
        with watch.nothing_changes(str(route)), watch.audits(1, str(route)):
            answer = route.call(without, home.ids)
        refused(answer, 403, "insufficient-scope", str(route))
        # a path that names a project has it named
        names = [name.replace("<project>", "main") for name in route.access.scope_names()]
        assert answer.json["required_scope"].replace("<project>", "main") in names
        assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]
        # before its body is looked at, so that nothing tells what there is
        if route.good.body is not None:
            path = route.good.path(route.rule, home.ids)
            nonsense = without.call(route.method, path, data=b"nonsense")
            refused(nonsense, 403, "insufficient-scope", str(route))
        tried += 1
    assert tried > 60


def lacking(world: World, home: Household, route: Route) -> Caller | None:
    """Who would call it, with every scope but those of the route; None: nobody has such a token."""
    if route.administers:
        enough = {str(s) for s in route.access.scopes if isinstance(s, TenantScope)}
        return world.narrowed(home.boss, [s for s in ALL_TENANT if s not in enough])
    left = [v for v in ALL_VERBS if Verb(v) not in route.access.scopes]
    return world.narrowed(home.agent, verbs("main", *left)) if left else None


def test_a_turn_takes_the_scopes_of_all_its_parts(world: World, home: Household) -> None:
    (turn,) = (route for route in routes(world.app) if route.rule.endswith("/turn"))
    watch = Watch(world)
    for verb in ("claim", "memory", "publish"):
        narrow = world.narrowed(home.agent, verbs("main", *(v for v in ALL_VERBS if v != verb)))
        with watch.nothing_changes(verb), watch.audits(1, verb):
            answer = turn.call(narrow, home.ids)
        refused(answer, 403, "insufficient-scope", verb)
        assert answer.json["required_scope"].endswith(f":{verb}")


def test_what_is_granted_no_more_opens_nothing(world: World, home: Household) -> None:
    for who, prefix in ((home.agent, Prefix.AGENT), (home.boss, Prefix.SERVICE)):
        gone = delete(granted_scope).where(
            granted_scope.c.principal_id == decode_id(prefix, who.id)
        )
        world.house.database.run(lambda s, gone=gone: s.connection().execute(gone))
    let_states_age(world)
    watch = Watch(world)
    for route in routes(world.app):
        with watch.nothing_changes(str(route)), watch.audits(1, str(route)):
            answer = route.call(home.caller(route), home.ids)
        refused(answer, 403, "insufficient-scope", str(route))

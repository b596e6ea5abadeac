"""Every page: signed out, in a role that it is not for, and with what is another tenant's.

A route that names something new has no example in `theirs`, and the walk fails until it has.
"""

from __future__ import annotations

from typing import Any

import pytest
from werkzeug.routing import Rule

from blueprints.access import Access, stated_by
from restante.identity.roles import Role, may
from tests.console.browsing import Browser, signed_in
from tests.console.things import things_of
from tests.http.walking import Watch
from tests.http.world import World, unknown_id

SEEN = frozenset({"operator_session"})
"""That a session was seen is written once a minute."""
ABSENT = {
    "session_id": unknown_id("ses"),
    "job_id": unknown_id("job"),
    "signature": "0" * 64,
    "event_id": unknown_id("evt"),
    "agent_id": unknown_id("agt"),
    "room_id": unknown_id("room"),
    "assignment_id": unknown_id("asg"),
    "callback_id": unknown_id("cb"),
    "service_id": unknown_id("svc"),
    "credential_id": unknown_id("key"),
    "operator_id": unknown_id("opr"),
    "entry_id": unknown_id("aud"),
    "template_id": unknown_id("tpl"),
    "draft_id": "0" * 32,
    "slug": "none",
}


def pages(world: World) -> list[tuple[Rule, str, Access]]:
    """(rule, method, access) of every route for which one is signed in."""
    found = []
    for rule in world.app.url_map.iter_rules():
        access = stated_by(world.app.view_functions[rule.endpoint])
        if access is not None and access.session:
            found += [
                (rule, method, access) for method in sorted(rule.methods or ()) if method != "HEAD"
            ]
    return found


def address(rule: Rule, ids: dict[str, str]) -> str:
    """The rule's address; a KeyError names what there is no example of."""
    path = rule.rule
    for name in rule.arguments:
        start = path.index("<")
        path = path[:start] + ids[name] + path[path.index(">") + 1 :]
    return path


@pytest.fixture
def theirs(world: World) -> dict[str, str]:
    """What a tenant has that is another's, by the names that routes give it."""
    world.tenant("rival", "main", "rivals-alone")
    return things_of(world, "rival", "rita", slug="rivals-alone")[1]


def test_every_page_names_what_there_is_an_example_of(world: World) -> None:
    named = {name for rule, _, _ in pages(world) for name in rule.arguments}
    assert named - ABSENT.keys() == set(), "add these to ABSENT and theirs"


def test_who_is_signed_out_changes_nothing(world: World, theirs: dict[str, str]) -> None:
    watch, tried = Watch(world), 0
    for rule, method, _ in pages(world):
        what = (method, rule.rule)
        for ids in (theirs, ABSENT):
            with watch.nothing_changes(what), watch.audits(0, what):
                answer = Browser(world).ask(method, address(rule, ids), data={"csrf": "x"})
            if method == "GET":
                assert answer.status_code == 303, what
                assert answer.headers["Location"].startswith("/sign-in"), what
            else:
                assert answer.status_code == 403, what
            tried += 1
    assert tried > 20


def test_a_role_that_it_is_not_for_changes_nothing(world: World, theirs: dict[str, str]) -> None:
    browsers = {
        role: signed_in(
            world,
            tenant=None if role is Role.PLATFORM_ADMIN else "acme",
            role=role,
            email=f"{role.value}@example.com",
        )
        for role in Role
    }
    tokens = {role: browser.token() for role, browser in browsers.items()}
    watch, tried = Watch(world), 0
    for rule, method, access in pages(world):
        for role, browser in browsers.items():
            if access.right is None or may(role, access.right):
                continue
            what = (method, rule.rule, role.value)
            with watch.nothing_changes(what, but=SEEN), watch.audits(1, what):
                answer = browser.ask(method, address(rule, theirs), data={"csrf": tokens[role]})
            assert answer.status_code == 403, what
            assert "Your role does not include this" in answer.text, what
            tried += 1
    assert tried >= 4


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.TENANT_ADMIN])
def test_what_is_another_tenants_is_not_there(
    world: World, theirs: dict[str, str], role: Role
) -> None:
    browser = signed_in(world, role=role)
    token = browser.token()
    watch, tried = Watch(world), 0
    for rule, method, access in pages(world):
        if not rule.arguments or (access.right is not None and not may(role, access.right)):
            continue
        what = (method, rule.rule)
        told: list[Any] = []
        for ids in (theirs, ABSENT):
            with watch.nothing_changes(what, but=SEEN), watch.audits(0, what):
                answer = browser.ask(
                    method, address(rule, ids), data={"csrf": token, "reason": "x"}
                )
            text = answer.text.replace(answer.headers["X-Request-Id"], "")
            for name, value in ids.items():
                text = text.replace(value, name) if len(value) > 10 else text
            told.append((answer.status_code, answer.headers.get("Location"), text))
        assert told[0] == told[1], what
        assert told[0][0] == 404, (what, told[0])
        tried += 1
    assert tried >= 1

"""Every route says who may call it, and holds to it."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import Rule

from app import create_app
from blueprints.access import Access, stated_by
from blueprints.endpoint import endpoint_of
from config import Settings
from restante.identity.scopes import TenantScope, Verb
from tests.http.world import Caller, World, unknown_id, verbs
from tests.support.serving import SECRET_KEY

PUBLIC = {
    "/",
    "/.well-known/oauth-authorization-server",
    "/api/docs",
    "/api/v1/openapi.json",
    "/health/live",
    "/health/ready",
    "/metrics",
    "/oauth/device_authorization",
    "/oauth/introspect",
    "/oauth/jwks.json",
    "/oauth/revoke",
    "/oauth/token",
    "/problems",
    "/problems/<slug>",
    "/sign-in",
    "/sign-in/<secret>",
    "/sign-in/oidc",
    "/sign-in/oidc/return",
    "/signed-out",
    "/static/<path:filename>",
}
SHARED = {
    ("POST", "/api/v1/agents/<agent_id>/events"),
    *(
        (method, "/api/v1/agents/<agent_id>/memory/<project>/<key:key>")
        for method in ("PUT", "PATCH", "DELETE")
    ),
}
"""What another principal of the tenant may call."""
OF_OPERATORS = {
    "/account",
    "/account/sessions/<session_id>/revoke",
    "/account/sessions/revoke-others",
    "/device",
    "/device/approve",
    "/device/refuse",
    "/sign-in/again",
    "/sign-in/again/oidc",
    "/sign-in/which",
    "/sign-out",
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """The application; nothing here asks its database."""
    folder = tmp_path_factory.mktemp("access")
    return create_app(Settings(database_url=f"sqlite:///{folder}/none.db", secret_key=SECRET_KEY))


def routes(app: Flask) -> list[tuple[Rule, str, Access]]:
    """(rule, method, access) of every route with a token; HEAD goes with GET."""
    found = []
    for rule in app.url_map.iter_rules():
        access = stated_by(app.view_functions[rule.endpoint])
        assert access is not None, f"{rule.rule} does not state who may call it"
        if not access.public and not access.session:
            found += [(rule, method, access) for method in sorted(rule.methods - {"HEAD"})]
    return found


def address(rule: Rule, agent_id: str, event_id: str) -> str:
    """A rule's address, with these ids in it."""
    path = rule.rule.replace("<agent_id>", agent_id)
    path = path.replace("<project>", "main").replace("<key:key>", "some/key")
    return path.replace("<event_id>", event_id).replace("<event:event_id>", event_id)


def body_of(world: World, rule: Rule) -> dict[str, Any] | None:
    """An example of the body that a route takes, as its document has it."""
    endpoint = endpoint_of(world.app.view_functions[rule.endpoint])
    if endpoint is None or endpoint.body is None:
        return None
    return dict(next(iter(endpoint.examples.values())))


def test_every_route_states_its_scope_or_why_it_is_open(app: Flask) -> None:
    scoped = routes(app)
    assert {rule.rule for rule in app.url_map.iter_rules()} - {
        r.rule for r, _, _ in scoped
    } == PUBLIC | OF_OPERATORS
    assert all(access.scopes for _, _, access in scoped)


def test_every_address_below_an_agent_is_its_own_but_publishing_and_writing_memory(
    app: Flask,
) -> None:
    shared = {
        (method, rule.rule)
        for rule, method, access in routes(app)
        if rule.rule.startswith("/api/v1/agents/") and not access.own
    }
    assert shared == SHARED


def test_without_a_token_or_with_a_bad_one_every_route_is_401(world: World, alice: Caller) -> None:
    fields: list[dict[str, str]] = [
        {},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer not-a-token"},
        {"Authorization": f"Bearer {alice.token[:-6]}AAAAAA"},
    ]
    for rule, method, _ in routes(world.app):
        path = address(rule, alice.id, unknown_id("evt"))
        for headers in fields:
            answer = world.client.open(path, method=method, headers=headers)
            assert (answer.status_code, answer.json["type"]) == (
                401,
                "/problems/unauthenticated",
            ), path
            assert answer.headers["WWW-Authenticate"].startswith("Bearer ")


def test_two_credentials_are_400_everywhere(world: World, alice: Caller) -> None:
    for rule, method, _ in routes(world.app):
        path = address(rule, alice.id, unknown_id("evt"))
        answer = alice.call(method, f"{path}?access_token={alice.token}")
        assert (answer.status_code, answer.json["type"]) == (
            400,
            "/problems/ambiguous-credentials",
        ), path


def test_a_token_with_the_verb_for_no_project_is_403_before_its_body_is_read(world: World) -> None:
    """One agent for each verb: what its scope does not reach is refused, though its body is nonsense."""
    holders = {verb: world.agent("acme", f"only-{verb}", verbs("main", verb)) for verb in Verb}
    for rule, method, access in routes(world.app):
        for verb, holder in holders.items():
            path = address(rule, holder.id, unknown_id("evt"))
            answer = holder.call(method, path, data=b"nonsense")
            if verb in access.scopes:
                assert answer.status_code not in (401, 403), (method, path)
                continue
            assert (answer.status_code, answer.json["type"]) == (
                403,
                "/problems/insufficient-scope",
            ), path
            assert answer.json["required_scope"]
            assert 'error="insufficient_scope"' in answer.headers["WWW-Authenticate"]


def test_what_is_anothers_answers_like_what_is_absent(
    world: World, alice: Caller, ci: Caller
) -> None:
    """Agents and events of another tenant, of another agent, unknown ones and what is no id at all."""
    world.tenant("rival", "main")
    rival = world.agent("rival", "alice", verbs("main"))
    neighbour = world.agent("acme", "neighbour", verbs("main"))
    foreign = [
        (rival.id, rival.publish(rival)[0]["event_id"]),
        (neighbour.id, neighbour.publish(neighbour)[0]["event_id"]),
        ("agt_nonsense", "evt_nonsense"),
        ("%C3%A9", "x" * 300),
    ]
    compared = 0
    for rule, method, _ in routes(world.app):
        if "<" not in rule.rule:
            continue
        body = body_of(world, rule)
        absent = seen(alice, method, address(rule, unknown_id("agt"), unknown_id("evt")), body)
        assert absent["status"] >= 400, rule.rule
        for agent_id, event_id in foreign:
            if (method, rule.rule) in SHARED and agent_id == neighbour.id:
                continue  # that is what it is for
            path = address(rule, agent_id, event_id)
            assert seen(alice, method, path, body) == absent, path
            compared += 1
        for agent_id, event_id in foreign[:2] if "event_id" in rule.rule else ():
            # the own address, and a foreign event in it
            path = address(rule, alice.id, event_id)
            own = seen(alice, method, address(rule, alice.id, unknown_id("evt")), body)
            assert own["status"] == 404, path
            assert seen(alice, method, path, body) == own, (path, agent_id)
            compared += 1
        if rule.rule.startswith("/api/v1/agents/") and (method, rule.rule) not in SHARED:
            assert (
                seen(ci, method, address(rule, alice.id, unknown_id("evt")), body)["status"] == 404
            )
    assert compared > 50


def seen(caller: Caller, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
    """What an answer tells: all but the address, and the ids that the caller named himself."""
    given = {} if body is None else {"json": body}
    answer = caller.call(method, path, **given)
    told = dict(answer.json)
    assert told.pop("instance")
    assert told.pop("request_id")
    told.pop("recipients", None)
    return told


def test_a_project_outside_the_token_answers_alike_whether_it_exists_or_not(
    world: World, alice: Caller
) -> None:
    for slug in ("other", "no-such-project"):
        refused = [
            alice.get(f"A/inbox?projects={slug}"),
            alice.post("A/inbox/claim", {"projects": [slug]}),
            alice.post(
                "events", {"recipients": [alice.id], "project": slug, "payload": {"type": "t"}}
            ),
        ]
        assert [answer.status_code for answer in refused] == [403] * 3
        assert all(slug in answer.json["required_scope"] for answer in refused)


def test_an_event_of_a_project_outside_the_token_is_404(world: World) -> None:
    both = world.agent("acme", "both", [*verbs("main"), *verbs("other")])
    narrow = world.narrowed(both, verbs("main"))
    event = both.publish(both, project="other")[0]["event_id"]
    assert both.get(f"A/inbox/{event}").status_code == 200
    assert narrow.get(f"A/inbox/{event}").status_code == 404
    assert narrow.get(f"events/{event}").status_code == 404
    assert narrow.post(f"A/inbox/{event}/ack", {"claim_generation": 1}).status_code == 404
    assert narrow.get("A/inbox").json["events"] == []
    assert narrow.get("A/inbox/stats").json["pending"] == 0


def test_services_with_tenant_scopes_reach_what_these_say(world: World, alice: Caller) -> None:
    reader = world.service("acme", "reader", [TenantScope.EVENTS_READ.value])
    canceller = world.service("acme", "canceller", [TenantScope.EVENTS_CANCEL.value])
    event = alice.publish(alice)[0]["event_id"]
    assert reader.get(f"events/{event}").status_code == 200
    assert reader.post(f"events/{event}/cancel", {"reason": "no"}).status_code == 403
    assert canceller.get(f"events/{event}").status_code == 403
    assert canceller.post(f"events/{event}/cancel", {"reason": "no"}).json["status"] == "cancelled"

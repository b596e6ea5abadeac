"""Every route says who may call it, and what its scopes reach; the walks are in test_walk_*.py."""

from __future__ import annotations

import pytest
from flask import Flask
from werkzeug.routing import Rule

from app import create_app
from blueprints.access import stated_by
from config import Settings
from restante.identity.scopes import TenantScope, Verb
from tests.http.walk import token_rules
from tests.http.world import Caller, World, unknown_id, verbs
from tests.support.serving import SECRET_KEY

PUBLIC = {
    "/",
    "/.well-known/oauth-authorization-server",
    "/api/docs",
    "/api/v1/a2a/notifications",
    "/api/v1/openapi.json",
    "/docs",
    "/docs/<path:name>",
    "/docs/search",
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


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Flask:
    """The application; nothing here asks its database."""
    folder = tmp_path_factory.mktemp("access")
    return create_app(Settings(database_url=f"sqlite:///{folder}/none.db", secret_key=SECRET_KEY))


def address(rule: Rule, agent_id: str, event_id: str) -> str:
    """A rule's address, with these ids in it."""
    path = rule.rule.replace("<agent_id>", agent_id)
    path = path.replace("<project>", "main").replace("<key:key>", "some/key")
    return path.replace("<event_id>", event_id).replace("<event:event_id>", event_id)


def test_every_route_states_its_scope_or_why_it_is_open(app: Flask) -> None:
    """Pages for operators are walked through in tests/console/test_walk.py."""
    stated = [(r.rule, stated_by(app.view_functions[r.endpoint])) for r in app.url_map.iter_rules()]
    assert {rule for rule, access in stated if access is not None and access.public} == PUBLIC
    assert all(access.scopes for _, _, access in token_rules(app))


def test_every_address_below_an_agent_is_its_own_but_publishing_and_writing_memory(
    app: Flask,
) -> None:
    shared = {
        (method, rule.rule)
        for rule, method, access in token_rules(app)
        if rule.rule.startswith("/api/v1/agents/") and not access.own
    }
    assert shared == SHARED


def test_a_token_with_the_verb_for_no_project_is_403_before_its_body_is_read(world: World) -> None:
    """One agent for each verb: what its scope does not reach is refused, though its body is nonsense."""
    holders = {verb: world.agent("acme", f"only-{verb}", verbs("main", verb)) for verb in Verb}
    for rule, method, access in token_rules(world.app):
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
            needed = answer.json["required_scope"]
            field = f'Bearer realm="restante", error="insufficient_scope", scope="{needed}"'
            assert answer.headers["WWW-Authenticate"] == field, path
            assert answer.json["detail"].startswith(
                f"This needs the scope {needed}: ask for a token"
            )


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

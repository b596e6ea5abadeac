"""Every endpoint of OAuth: clients that do not prove themselves, and tokens that are another's."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.administration import administrator
from tests.http.walking import Watch
from tests.http.world import Caller, World, unknown_id, verbs

FORMS: dict[str, dict[str, str]] = {
    "/oauth/token": {"grant_type": "client_credentials"},
    "/oauth/device_authorization": {"scope": "agent:main:read"},
    "/oauth/revoke": {"token": "rubbish"},
    "/oauth/introspect": {"token": "rubbish"},
}
COUNTED = frozenset({"failed_attempt"})


@pytest.fixture
def rival(world: World) -> Caller:
    world.tenant("rival", "main")
    return world.agent("rival", "rita", verbs("main"))


def send(world: World, path: str, form: dict[str, str], auth: Any = None, number: int = 1) -> Any:
    """The answer to that form, from an address of its own."""
    there = {"REMOTE_ADDR": f"192.0.2.{number}"}
    return world.client.post(path, data=form, auth=auth, environ_base=there)


def test_every_endpoint_has_its_form(world: World) -> None:
    there = {r.rule for r in world.app.url_map.iter_rules() if r.rule.startswith("/oauth/")}
    assert there - FORMS.keys() == {"/oauth/jwks.json"}, "add these to FORMS"
    for path in FORMS:
        for method in ("GET", "PUT", "PATCH", "DELETE"):
            answer = world.client.open(path, method=method)
            assert (answer.status_code, answer.headers["Allow"]) == (405, "POST"), (method, path)


def test_who_does_not_prove_himself_changes_nothing(
    world: World, alice: Caller, bob: Caller, rival: Caller
) -> None:
    admin = administrator(world)
    assert admin.post(f"admin/agents/{bob.id}/disable").status_code == 200
    spent = admin.post(f"admin/agents/{alice.id}/credentials", {"type": "client_secret"}).json
    key = f"admin/agents/{alice.id}/credentials/{spent['credential_id']}"
    assert admin.call("DELETE", key).status_code == 200
    wrong = {
        "another's secret": (alice.id, rival.secret),
        "nobody": (unknown_id("agt"), alice.secret),
        "no id": ("nobody", "x"),
        "of another kind": (alice.id.replace("agt_", "svc_"), alice.secret),
        "disabled": (bob.id, bob.secret),
        "revoked": (alice.id, spent["client_secret"]),
        "a token": (alice.id, alice.token),
    }
    watch, number = Watch(world), 0
    for path, form in FORMS.items():
        told = set()
        for name, auth in wrong.items():
            number += 1
            with (
                watch.nothing_changes((path, name), but=COUNTED),
                watch.audits(1, (path, name)),
            ):
                answer = send(world, path, form, auth, number)
            assert answer.headers["WWW-Authenticate"].startswith("Basic"), (path, name)
            told.add((answer.status_code, answer.json["error"], answer.text))
        assert len(told) == 1, path
        assert told.pop()[:2] == (401, "invalid_client"), path
        number += 1
        with watch.nothing_changes(path, but=COUNTED):
            assert send(world, path, form, number=number).status_code in (400, 401), path
        if path != "/oauth/device_authorization":
            assert send(world, path, form, (alice.id, alice.secret), 250).status_code == 200, path


def test_tokens_of_others_are_rubbish(
    world: World, alice: Caller, bob: Caller, rival: Caller
) -> None:
    watch, own = Watch(world), (alice.id, alice.secret)
    for path in ("/oauth/revoke", "/oauth/introspect"):
        told = set()
        for token in (rival.token, bob.token, "rubbish", alice.token[:-4]):
            with watch.nothing_changes(path, but=COUNTED):
                answer = send(world, path, {"token": token}, own)
            told.add((answer.status_code, answer.text))
        assert len(told) == 1, (path, told)
    for who in (rival, bob, alice):
        assert who.get("A/inbox").status_code == 200

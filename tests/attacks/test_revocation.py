"""Giving back and asking about tokens under attack (JO-093 to JO-101)."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from restante.storage.tables.identity import principal
from tests.attacks.arena import Attacker, Tenant
from tests.attacks.clients import keyed
from tests.attacks.logins import log_in, refresh
from tests.attacks.wire import Answer, basic, bearer, new_address
from tests.support.waiting import wait_until

INACTIVE = b'{"active": false}'


@pytest.fixture
def bob(acme: Tenant) -> Attacker:
    """An agent whose device is logged in."""
    one = acme.agent()
    one.address = new_address()
    return one


def revoke(who: Attacker, token: str, **form: str) -> Answer:
    return who.wire.form("/oauth/revoke", who.basic, token=token, **form)


def introspect(who: Attacker, token: str, **form: str) -> Answer:
    return who.wire.form("/oauth/introspect", who.basic, token=token, **form)


def ends(who: Attacker, *tokens: str) -> None:
    wait_until(
        lambda: all(who.stats(token).is_invalid_token for token in tokens for _ in range(6)),
        "every worker to refuse them",
    )


def test_jo_093_an_unknown_token(alice: Attacker) -> None:
    for token in ("garbage", "rstr_" + "A" * 43, "a.b.c", "\x00", "\u00e9", alice.token + "x"):
        answer = revoke(alice, token)
        assert (answer.status, answer.json) == (200, {})
    for form in ({}, {"token": ""}):
        answer = alice.wire.form("/oauth/revoke", alice.basic, **form)
        assert answer.error == "400 invalid_request"
    assert alice.stats().status == 200


def test_jo_094_the_token_of_another_client(alice: Attacker, bob: Attacker) -> None:
    """Of the same tenant, of another, and of a public client by its name alone: nothing happens."""
    stranger = bob.arena.tenant().agent()
    login = log_in(bob)
    for token in (alice.token, login["access_token"], login["refresh_token"]):
        thief = bob if token == alice.token else alice
        for one in (thief, stranger):
            assert revoke(one, token).status == 200
        for named in (thief.id, "restante-agent"):
            assert bob.wire.form("/oauth/revoke", client_id=named, token=token).status == 200
    # what was got with a secret is not given back by whoever knows the client_id
    assert bob.wire.form("/oauth/revoke", client_id=alice.id, token=alice.token).status == 200
    assert alice.arena.audited("token.revoke", alice.id) == []
    assert alice.arena.audited("token.revoke", bob.id) == []
    assert alice.stats().status == 200
    assert bob.stats(login["access_token"]).status == 200
    assert refresh(bob, login["refresh_token"]).status == 200


def test_jo_095_a_refresh_token(bob: Attacker) -> None:
    """With it goes its login: what came before it, what would come after, and the access tokens."""
    first = log_in(bob)
    second = refresh(bob, first["refresh_token"]).json
    other = log_in(bob)
    answer = bob.wire.form("/oauth/revoke", client_id=bob.id, token=second["refresh_token"])
    assert answer.status == 200
    for token in (first["refresh_token"], second["refresh_token"]):
        assert refresh(bob, token).error == "400 invalid_grant"
    ends(bob, first["access_token"], second["access_token"])
    assert bob.stats(other["access_token"]).status == 200
    assert refresh(bob, other["refresh_token"]).status == 200
    assert len(bob.arena.audited("token.revoke", bob.id)) == 1


def test_jo_096_no_authentication(alice: Attacker, bob: Attacker) -> None:
    login = log_in(bob)
    for fields in ({}, bearer(alice.token), basic(alice.id, "wrong")):
        for token in (alice.token, login["refresh_token"]):
            answer = alice.wire.form("/oauth/revoke", fields, token=token)
            assert answer.error == "401 invalid_client"
            assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    assert alice.stats().status == 200
    assert refresh(bob, login["refresh_token"]).status == 200


@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "", "nonsense", "\u00e9"])
def test_jo_097_a_wrong_hint(alice: Attacker, bob: Attacker, hint: str) -> None:
    login = log_in(bob)
    assert revoke(bob, login["refresh_token"], token_type_hint=hint).status == 200
    assert refresh(bob, login["refresh_token"]).error == "400 invalid_grant"
    assert revoke(alice, alice.token, token_type_hint=hint).status == 200
    ends(alice, alice.token)


def test_jo_098_asking_without_authentication(alice: Attacker, bob: Attacker) -> None:
    """A public client proves nothing, and has been told all when it got the token."""
    token = log_in(bob)["access_token"]
    for fields in ({}, bearer(token), bearer(alice.token), basic(bob.id, "wrong")):
        answer = bob.wire.form("/oauth/introspect", fields, token=token)
        assert answer.error == "401 invalid_client"
    for named in (bob.id, "restante-agent"):
        answer = bob.wire.form("/oauth/introspect", client_id=named, token=token)
        assert answer.error == "401 invalid_client"


def test_jo_099_a_token_of_another_tenant(alice: Attacker, acme: Tenant) -> None:
    """Nor of the own one: a client sees what is its own."""
    strangers = [
        alice.arena.tenant().agent(),
        alice.arena.tenant().service("tenant:audit:read"),
        acme.agent(),
        acme.service("tenant:agents:read", "tenant:audit:read"),
    ]
    for one in strangers:
        answer = introspect(one, alice.token)
        assert (answer.status, answer.body) == (200, INACTIVE)
    own = introspect(alice, alice.token).json
    issuer = alice.arena.issuer
    assert own | {"iat": 0, "exp": 0, "jti": ""} == {
        "active": True,
        "scope": "agent:a:claim agent:a:read",
        "client_id": alice.id,
        "sub": alice.id,
        "iss": issuer,
        "aud": issuer,
        "token_type": "Bearer",
        "iat": 0,
        "exp": 0,
        "jti": "",
    }
    assert own["exp"] - own["iat"] == 600


def test_jo_100_tokens_that_are_not_active(alice: Attacker, acme: Tenant, bob: Attacker) -> None:
    """Over, revoked, of a disabled agent, unknown, malformed, spent: one body."""
    now = alice.arena.now()
    revoked = alice.signed_in()
    assert introspect(alice, revoked.token).json["active"] is True
    assert revoke(alice, revoked.token).status == 200
    login = log_in(bob)
    assert introspect(bob, login["refresh_token"]).json["active"] is True
    after = refresh(bob, login["refresh_token"]).json
    disabled = acme.agent().signed_in()
    own = update(principal).where(principal.c.principal_id == disabled.raw)
    alice.arena.change(own.values(status="disabled"))
    answers = [
        introspect(alice, alice.bent(iat=now - 700, exp=now - 100)),
        introspect(alice, revoked.token),
        introspect(alice, disabled.token),
        introspect(alice, "unknown"),
        introspect(alice, alice.token[:-4] + "AAAA"),
        introspect(alice, alice.with_header(typ="JWT")),
        introspect(alice, "\x00.\u00e9.x"),
        introspect(bob, login["refresh_token"]),
    ]
    assert {(answer.status, answer.body) for answer in answers} == {(200, INACTIVE)}
    assert introspect(bob, after["refresh_token"]).json["active"] is True
    assert revoke(bob, after["refresh_token"]).status == 200
    for name in ("refresh_token", "access_token"):
        assert introspect(bob, after[name]).body == INACTIVE


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_jo_101_other_methods(alice: Attacker, method: str) -> None:
    for name in ("introspect", "revoke", "device_authorization"):
        answer = alice.wire.send(method, f"/oauth/{name}?token={alice.token}", alice.basic)
        assert (answer.status, answer.headers["Allow"]) == (405, "POST")
    assert alice.token not in alice.arena.log.read_text()
    answer = alice.wire.form(f"/oauth/introspect?token={alice.token}", alice.basic, token="x")
    assert answer.error == "400 invalid_request"


def test_a_client_with_a_key_gives_back_and_asks_too(acme: Tenant) -> None:
    one = acme.agent()
    one.address = new_address()
    client = keyed(one)
    token = client.prove().json["access_token"]
    form = {"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}
    for path, told in (("introspect", True), ("revoke", None), ("introspect", False)):
        answer = one.wire.form(
            f"/oauth/{path}", token=token, client_assertion=client.assertion(), **form
        )
        assert answer.status == 200
        assert answer.json.get("active") is told

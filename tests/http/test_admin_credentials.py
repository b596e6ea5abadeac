"""Credentials of agents and services through the admin API, on each database."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from joserfc.jwk import OKPKey

from restante.identity.assertions import TYPE
from restante.identity.logins import FAMILY_LIFETIME, Approved, begin_family
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id, new_id
from tests.http.administration import administrator, audited, faults, let_states_age
from tests.http.world import Caller, World, open_world, unknown_id, verbs
from tests.support.databases import TestDatabase


@pytest.fixture
def world(database: TestDatabase, settings: dict[str, object]) -> Iterator[World]:
    with open_world(database.url, settings) as one:
        yield one


@pytest.fixture
def admin(world: World) -> Caller:
    return administrator(world)


@pytest.fixture(params=["agents", "services"])
def machine(request: pytest.FixtureRequest, world: World) -> tuple[str, Caller]:
    """(its credentials' address, itself): an agent, or a service with scopes that the admin has too."""
    if request.param == "agents":
        one = world.agent("acme", "builder", verbs("main"))
    else:
        one = world.service("acme", "ci", ["agent:main:publish", "tenant:audit:read"])
    return f"admin/{request.param}/{one.id}/credentials", one


def new_key() -> tuple[Ed25519PrivateKey, dict[str, str]]:
    key = Ed25519PrivateKey.generate()
    return key, OKPKey.import_key(key.public_key()).as_dict(private=False)


def get_token(world: World, who: str, key: Ed25519PrivateKey) -> int:
    """The status of asking for a token with a key of one's own."""
    issuer = world.house.settings.public_url
    now = int(world.house.database.run(database_now).replace(tzinfo=UTC).timestamp())
    claims = {"iss": who, "sub": who, "aud": issuer, "jti": new_id().hex(), "exp": now + 60}
    parts = [{"alg": "EdDSA"}, claims]
    signed = b".".join(urlsafe_b64encode(json.dumps(p).encode()).rstrip(b"=") for p in parts)
    signature = urlsafe_b64encode(key.sign(signed)).rstrip(b"=")
    form = {
        "grant_type": "client_credentials",
        "client_assertion_type": TYPE,
        "client_assertion": (signed + b"." + signature).decode(),
    }
    return world.client.post("/oauth/token", data=form).status_code


def listed(admin: Caller, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = admin.get(path).json["credentials"]
    return found


def alive(world: World, one: Caller, secret: str) -> bool:
    """Whether the secret gets it a token."""
    answer = world.client.post(
        "/oauth/token",
        data={"grant_type": "client_credentials", "scope": "agent:main:publish"},
        headers={"Authorization": f"Basic {b64encode(f'{one.id}:{secret}'.encode()).decode()}"},
    )
    if answer.status_code == 200:
        return True
    assert (answer.status_code, answer.json["error"]) == (401, "invalid_client")
    return False


def test_a_secret_is_rotated(world: World, admin: Caller, machine: tuple[str, Caller]) -> None:
    path, one = machine
    (first,) = listed(admin, path)
    made = admin.post(path, {"type": "client_secret"})
    assert made.status_code == 201, made.text
    assert made.headers["Cache-Control"] == "no-store"
    secret = made.json["client_secret"]
    assert made.json == {
        "credential_id": made.json["credential_id"],
        "type": "client_secret",
        "created_at": made.json["created_at"],
        "expires_at": None,
        "host": None,
        "public_jwk": None,
        "client_id": one.id,
        "client_secret": secret,
    }
    assert alive(world, one, one.secret)
    assert alive(world, one, secret)
    third = admin.post(path, {"type": "client_secret"})
    assert (third.status_code, third.json["type"]) == (409, "/problems/too-many-keys")
    assert "revoke one" in third.json["detail"]
    answer = admin.get(path)
    assert [c["credential_id"] for c in answer.json["credentials"]] == [
        first["credential_id"],
        made.json["credential_id"],
    ]
    assert not {one.secret, secret} & set(answer.text.split('"'))
    ended = admin.call("DELETE", f"{path}/{first['credential_id']}")
    assert ended.status_code == 200
    assert ended.json["credential_id"] == first["credential_id"]
    assert admin.call("DELETE", f"{path}/{first['credential_id']}").json == ended.json
    let_states_age(world)
    # its tokens end with it
    assert one.get("events?correlation_id=x").status_code == 401
    assert not alive(world, one, one.secret)
    assert alive(world, one, secret)
    assert [c["credential_id"] for c in listed(admin, path)] == [made.json["credential_id"]]
    assert audited(world, by=admin) == [
        ("credential.create", one.id, f"client_secret {made.json['credential_id']}"),
        ("credential.revoke", one.id, f"client_secret {first['credential_id']}"),
    ]


def test_a_key_of_its_own(world: World, admin: Caller, machine: tuple[str, Caller]) -> None:
    path, one = machine
    key, jwk = new_key()
    body = {"type": "public_jwk", "public_jwk": {**jwk, "kid": "mine"}}
    made = admin.post(path, body)
    assert made.status_code == 201, made.text
    assert "client_secret" not in made.json
    assert made.json["public_jwk"] == {**jwk, "kid": "mine"}
    assert made.json["client_id"] == one.id
    assert get_token(world, one.id, key) == 200
    again = admin.post(path, {"type": "public_jwk", "public_jwk": jwk})
    assert faults(again) == ["/public_jwk"]
    assert made.json["credential_id"] in again.json["errors"][0]["detail"]
    admin.call("DELETE", f"{path}/{made.json['credential_id']}")
    assert get_token(world, one.id, key) == 401
    # it may come back
    assert admin.post(path, {"type": "public_jwk", "public_jwk": jwk}).status_code == 201
    assert get_token(world, one.id, key) == 200


def test_four_keys_are_all(world: World, admin: Caller, machine: tuple[str, Caller]) -> None:
    path, _ = machine
    answers = [
        admin.post(path, {"type": "public_jwk", "public_jwk": new_key()[1]}) for _ in range(5)
    ]
    assert [answer.status_code for answer in answers] == [201] * 4 + [409]
    assert "4 live public keys" in answers[-1].json["detail"]
    assert len(audited(world, by=admin)) == 4
    pages = [admin.get(f"{path}?limit=3").json]
    pages.append(admin.get(f"{path}?limit=3&page_token={pages[0]['next_page_token']}").json)
    assert [len(page["credentials"]) for page in pages] == [3, 2]
    assert pages[1]["next_page_token"] is None


def test_of_many_at_once_no_more_are_made_than_may_be(
    world: World, admin: Caller, machine: tuple[str, Caller]
) -> None:
    path, _ = machine

    def make(_: int) -> int:
        one = Caller(world.app.test_client(), admin.id, admin.secret, admin.token)
        return one.post(path, {"type": "client_secret"}).status_code

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(make, range(4))) == [201, 409, 409, 409]
    assert len(listed(admin, path)) == 2


def test_one_idempotency_key_registers_one_key(
    world: World, admin: Caller, machine: tuple[str, Caller]
) -> None:
    path, _ = machine
    body = {"type": "public_jwk", "public_jwk": new_key()[1]}
    first, again = (admin.post(path, body, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json == again.json
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(listed(admin, path)) == 2
    refused = admin.post(path, {"type": "client_secret"}, headers={"Idempotency-Key": "k2"})
    assert faults(refused) == ["Idempotency-Key"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/type"),
        ({"type": "device"}, "/type"),
        ({"type": "public_jwk"}, "/public_jwk"),
        ({"type": "public_jwk", "public_jwk": {}}, "/public_jwk"),
        ({"type": "public_jwk", "public_jwk": {"kty": "oct", "k": "AAAA"}}, "/public_jwk"),
        ({"type": "public_jwk", "public_jwk": "x"}, "/public_jwk"),
        ({"type": "client_secret", "public_jwk": {}}, "/public_jwk"),
        ({"type": "client_secret", "client_secret": "mine"}, "/client_secret"),
    ],
)
def test_what_is_no_credential(
    world: World, admin: Caller, alice: Caller, body: dict[str, Any], pointer: str
) -> None:
    path = f"admin/agents/{alice.id}/credentials"
    assert faults(admin.post(path, body)) == [pointer]
    assert len(listed(admin, path)) == 1
    assert audited(world, by=admin) == []


def test_a_private_key_is_kept_nowhere(world: World, admin: Caller, alice: Caller) -> None:
    path = f"admin/agents/{alice.id}/credentials"
    key = OKPKey.import_key(Ed25519PrivateKey.generate()).as_dict(private=True)
    answer = admin.post(path, {"type": "public_jwk", "public_jwk": key})
    assert faults(answer) == ["/public_jwk"]
    assert key["d"] not in answer.text
    assert len(listed(admin, path)) == 1


def test_a_devices_login_is_listed_and_revoked(world: World, admin: Caller, alice: Caller) -> None:
    raw, tenant_id = decode_id(Prefix.AGENT, alice.id) or b"", world.tenants["acme"]
    login = Approved(raw, tenant_id, "restante-agent", (), host="laptop")
    database = world.house.database
    family, _ = database.run(lambda s: begin_family(s, login, now=database_now(s)))
    path = f"admin/agents/{alice.id}/credentials"
    shown = listed(admin, path)[1]
    assert (shown["type"], shown["host"]) == ("device", "laptop")
    assert shown["expires_at"] is not None
    ended = admin.call("DELETE", f"{path}/{encode_id(Prefix.KEY, family)}")
    assert ended.status_code == 200
    assert len(listed(admin, path)) == 1
    # one that is over is good for nothing either
    database.run(lambda s: begin_family(s, login, now=database_now(s) - FAMILY_LIFETIME))
    assert len(listed(admin, path)) == 1


def test_credentials_are_named_below_whom_they_are_of(
    world: World, admin: Caller, alice: Caller, bob: Caller, ci: Caller
) -> None:
    (of_bob,) = listed(admin, f"admin/agents/{bob.id}/credentials")
    world.tenant("rival", "main")
    eve = world.agent("rival", "eve", verbs("main"))
    rival = administrator(world, "rival")
    (of_eve,) = listed(rival, f"admin/agents/{eve.id}/credentials")
    bodies = []
    for credential_id in (of_bob["credential_id"], of_eve["credential_id"], unknown_id("key"), "x"):
        for below in (f"agents/{alice.id}", f"services/{ci.id}"):
            answer = admin.call("DELETE", f"admin/{below}/credentials/{credential_id}")
            assert answer.status_code == 404
            bodies.append({**answer.json, "instance": "", "request_id": ""})
    assert all(body == bodies[0] for body in bodies)
    for path in (f"agents/{ci.id}", f"services/{alice.id}", f"agents/{eve.id}"):
        assert admin.get(f"admin/{path}/credentials").status_code == 404
    assert alive(world, bob, bob.secret)
    assert alive(world, eve, eve.secret)


def test_who_makes_a_credential_may_be_whom_it_is_for(world: World, alice: Caller) -> None:
    """So it takes what giving that one's scopes takes."""
    maker = administrator(world, "acme", "maker", "tenant:agents:write")
    path = f"admin/agents/{alice.id}/credentials"
    for body in ({"type": "client_secret"}, {"type": "public_jwk", "public_jwk": new_key()[1]}):
        refused = maker.post(path, body)
        assert (refused.status_code, refused.json["required_scope"]) == (403, "tenant:grants:write")
    # of one that may nothing it may make one; revoking takes nothing more
    made = maker.post("admin/agents", {"name": "mine"}).json
    mine = f"admin/agents/{made['agent_id']}/credentials"
    assert maker.post(mine, {"type": "client_secret"}).status_code == 201
    (first,) = listed(maker, path)
    assert maker.call("DELETE", f"{path}/{first['credential_id']}").status_code == 200


def test_a_service_is_nobody_who_may_more_than_it_may(world: World, alice: Caller) -> None:
    both = administrator(world, "acme", "both", "tenant:agents:write", "tenant:grants:write")
    mighty = world.service("acme", "mighty", ["tenant:quarantine:write", "tenant:events:publish"])
    weak = world.service("acme", "weak", ["tenant:agents:write", "agent:main:publish"])
    refused = both.post(f"admin/services/{mighty.id}/credentials", {"type": "client_secret"})
    assert (refused.status_code, refused.json["required_scope"]) == (403, "tenant:events:publish")
    made = both.post(f"admin/services/{weak.id}/credentials", {"type": "client_secret"})
    assert made.status_code == 201
    # itself it may be anyway, by a token that has all that it has
    sole = administrator(world, "acme", "sole", "tenant:agents:write", "tenant:audit:read")
    own = f"admin/services/{sole.id}/credentials"
    assert sole.post(own, {"type": "client_secret"}).status_code == 201
    narrowed = world.narrowed(sole, ["tenant:agents:write"])
    refused = narrowed.post(own, {"type": "public_jwk", "public_jwk": new_key()[1]})
    assert (refused.status_code, refused.json["required_scope"]) == (403, "tenant:grants:write")

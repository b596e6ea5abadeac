"""Every kind of token that must not be taken, each made from one that is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from joserfc.jwk import OKPKey

from restante.audit.entries import IN_PROCESS
from restante.identity.key_rotation import remove
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id, encode_id
from restante.storage.tables.identity import credential
from tests.http.world import Caller, World
from tests.oauth.forging import encode, header_of, payload_of, signed
from tests.support.serving import SECRET_KEY


@dataclass(frozen=True)
class Bad:
    """Headers of a call, how that is answered, and whether it is an entry of the audit."""

    name: str
    headers: dict[str, str]
    audited: bool
    status: int = 401
    problem: str = "unauthenticated"
    error: str = 'error="invalid_token"'


def bearer(name: str, token: str, *, audited: bool = True) -> Bad:
    return Bad(name, {"Authorization": f"Bearer {token}"}, audited)


def bad_credentials(world: World, who: Caller, *, removed: str) -> Iterator[Bad]:
    """All kinds, for that caller. `removed`: a token of his by a key that is no more."""
    yield Bad("none", {"Authorization": ""}, False, error='Bearer realm="restante"')
    yield Bad("of another scheme", {"Authorization": "Basic YTpi"}, False, error="Bearer realm")
    twice = f"Bearer {who.token}, Bearer {who.token}"
    yield Bad("two", {"Authorization": twice}, False, 400, "ambiguous-credentials", "")
    yield bearer("rubbish", "rubbish")
    yield bearer("no token at all", "a b")
    yield bearer("cut", who.token[:-4])
    key, strange = own_key(world), OKPKey.generate_key("Ed25519")
    head, said = header_of(who.token), payload_of(who.token)
    yield bearer("of another server", signed(head, said, strange))
    yield bearer("of another server's key", signed({**head, "kid": "x"}, said, strange))
    yield bearer("without alg", f"{encode(json.dumps({**head, 'alg': 'none'}).encode())}.e30.")
    for member, value in (("typ", "JWT"), ("typ", ""), ("alg", "HS256"), ("jku", "https://x.test")):
        yield bearer(f"{member} {value}", signed({**head, member: value}, said, key))
    for claim, value in (
        ("iss", "https://other.example"),
        ("aud", "https://other.example"),
        ("aud", []),
        ("sub", "admin"),
        ("exp", said["iat"] + 100_000),
        ("scope", ["agent:main:read"]),
    ):
        yield bearer(f"{claim} {value}", signed(head, {**said, claim: value}, key))
    over = {**said, "iat": said["iat"] - 700, "exp": said["exp"] - 700}
    yield bearer("over", signed(head, over, key), audited=False)
    yield bearer("of a removed key", removed)
    yield bearer("revoked", revoked(world, who))
    yield bearer("of a revoked credential", of_a_revoked_credential(world, who))


def own_key(world: World) -> OKPKey:
    """The private half of the key that the server signs with now."""
    keys = world.house.token_keys.keys
    return world.house.database.run(lambda s: keys.signer(s, database_now(s)))[1]


def remove_key(world: World, token: str) -> None:
    """The key that has signed it is no more."""
    kid = header_of(token)["kid"]
    world.house.database.run(lambda s: remove(s, kid, [SECRET_KEY], by=IN_PROCESS))
    world.house.authority._keys.expire()
    world.house.token_keys.keys._opened = None


def revoked(world: World, who: Caller) -> str:
    """Another token of his, given back."""
    other = world.narrowed(who, payload_of(who.token)["scope"].split(" "))
    answer = world.client.post(
        "/oauth/revoke", data={"token": other.token}, auth=(who.id, who.secret)
    )
    assert answer.status_code == 200
    return other.token


def of_a_revoked_credential(world: World, who: Caller) -> str:
    """One that says to be got with a credential of his that has been revoked since."""
    said: dict[str, Any] = payload_of(who.token)
    raw = decode_id(Prefix.KEY, said["credential"])

    def revoke(session: Any) -> bytes:
        connection = session.connection()
        row = connection.execute(credential.select().where(credential.c.credential_id == raw)).one()
        now = database_now(session) - timedelta(seconds=1)
        other = {**row._mapping, "credential_id": bytes(16), "revoked_at": now}
        connection.execute(credential.delete().where(credential.c.credential_id == bytes(16)))
        connection.execute(credential.insert().values(other))
        return bytes(16)

    other = encode_id(Prefix.KEY, world.house.database.run(revoke))
    return signed(header_of(who.token), {**said, "credential": other}, own_key(world))

"""The keys that an agent signs its requests with (contract 4)."""

from __future__ import annotations

from datetime import UTC
from functools import partial
from typing import Any, Literal

from blueprints import examples
from blueprints.access import Access
from blueprints.agents.blueprint import agents
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint
from blueprints.fields import Answer, Body
from blueprints.idempotency import refuse_key
from blueprints.origins import origin_of
from blueprints.shapes import WireInstant
from extensions import house
from restante.errors import NotFound, TokenTooOld, TooManyKeys
from restante.identity.scopes import Verb
from restante.identity.signing_keys import live_keys, revoke_key
from restante.inbox.envelope import instant
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, decode_id
from restante.storage.transaction import Session

TOKEN_SECONDS = 60
ANY_SCOPE = Access(scopes=tuple(Verb), own=True)
_ALGORITHM = Literal["hmac-sha256", "ed25519", "ecdsa-p256-sha256", "rsa-pss-sha512"]


class SigningKeyBody(Body):
    """What to sign with: a shared secret made here, or a public key of one's own."""

    public_jwk: dict[str, Any] | None = None


class NewSigningKey(Answer):
    """The key, live. `secret` is there for a minted one, this once; its UTF-8 bytes are the HMAC key."""

    key_id: str
    algorithm: _ALGORITHM
    expires_at: WireInstant | None
    secret: str | None = None


class OneSigningKey(Answer):
    """A live key."""

    key_id: str
    algorithm: _ALGORITHM
    created_at: WireInstant
    expires_at: WireInstant | None
    public_jwk: dict[str, str] | None


class SigningKeyList(Answer):
    """The live keys, oldest first."""

    keys: list[OneSigningKey]


class EndedSigningKey(Answer):
    """It verifies nothing any more."""

    key_id: str
    revoked_at: WireInstant


_MINTED = {
    "key_id": examples.KEY_ID,
    "algorithm": "hmac-sha256",
    "secret": "rstk_9Q2vX0n4mYt7cK1bR8wZs5LdJf3hGp6uEaTiOqVxNyM",
    "expires_at": examples.LATER,
}
_JWK = {"kty": "OKP", "crv": "Ed25519", "x": "oVr7WXWFMGYqOGAIQsD4XbBIp3nNtbCRY3LzLcBYY9Q"}
_REGISTERED = {"key_id": examples.KEY_ID, "algorithm": "ed25519", "expires_at": None}


@Endpoint(
    method="POST",
    access=ANY_SCOPE,
    tag="Signing keys",
    summary="Make or register a signing key",
    description="Without `public_jwk` a shared secret is made that signs with hmac-sha256 and lives a day: "
    "make its successor before that, both are good meanwhile. With `public_jwk` (Ed25519, P-256, or RSA of "
    "at least 2048 bits) that key is registered until it is deleted. Either ends with the credential whose "
    "token made it. The token must not be older than 60 s. This call need not be signed. No "
    "Idempotency-Key: the answer is a secret that is not kept.",
    body=SigningKeyBody,
    body_optional=True,
    examples={"a shared secret": {}, "a key of one's own": {"public_jwk": _JWK}},
    answer=NewSigningKey,
    answer_examples={"minted": _MINTED, "registered": _REGISTERED},
    status=201,
    problems=(TokenTooOld, TooManyKeys),
    unsigned=True,
).route(agents, "/signing-keys")
def make_signing_key(session: Session, call: Call) -> Reply:
    """Mint or register."""
    refuse_key(call)
    now = database_now(session).replace(tzinfo=UTC)
    if int(now.timestamp()) - call.claims.issued_at > TOKEN_SECONDS:
        raise TokenTooOld
    keys = house().signing_keys
    make = (
        keys.mint
        if call.body.public_jwk is None
        else partial(keys.register, public_jwk=call.body.public_jwk)
    )
    made = make(
        session,
        call.principal.id,
        credential_id=call.claims.credential_id,
        by=origin_of(call.request, call.principal),
    )
    told = {
        "key_id": made.key_id,
        "algorithm": made.algorithm,
        "expires_at": instant(made.expires_at),
    }
    return Reply(told if made.secret is None else {**told, "secret": made.secret}, 201)


@Endpoint(
    method="GET",
    access=ANY_SCOPE,
    tag="Signing keys",
    summary="The live signing keys",
    description="Those that verify now, without their secrets.",
    answer=SigningKeyList,
    answer_examples={
        "one of each": {
            "keys": [
                {
                    "key_id": examples.KEY_ID,
                    "algorithm": "ed25519",
                    "created_at": examples.CREATED_AT,
                    "expires_at": None,
                    "public_jwk": _JWK,
                }
            ]
        }
    },
).route(agents, "/signing-keys")
def list_signing_keys(session: Session, call: Call) -> Reply:
    """The live ones."""
    keys = [
        {
            "key_id": key.key_id,
            "algorithm": key.algorithm,
            "created_at": instant(key.created_at),
            "expires_at": instant(key.expires_at),
            "public_jwk": key.public_jwk,
        }
        for key in live_keys(session, call.principal.id)
    ]
    return Reply({"keys": keys})


@Endpoint(
    method="DELETE",
    access=ANY_SCOPE,
    tag="Signing keys",
    summary="End a signing key",
    description="From then on, within a second on every node, it verifies nothing. Ending it again answers "
    "the same.",
    answer=EndedSigningKey,
    answer_examples={"ended": {"key_id": examples.KEY_ID, "revoked_at": examples.LATER}},
).route(agents, "/signing-keys/<key_id>")
def end_signing_key(session: Session, call: Call) -> Reply:
    """End one."""
    key_id = decode_id(Prefix.KEY, call.path["key_id"])
    if key_id is None:
        raise NotFound
    by = origin_of(call.request, call.principal)
    revoked_at = revoke_key(session, call.principal.id, key_id=key_id, by=by)
    return Reply({"key_id": call.path["key_id"], "revoked_at": instant(revoked_at)})

"""What an agent or a service proves itself by: the same routes below either."""

from __future__ import annotations

from typing import Any, Literal

from blueprints import examples
from blueprints.admin.blueprint import admin, administrator, having
from blueprints.admin.machines import TAG
from blueprints.calls import Call, Reply
from blueprints.endpoint import Endpoint, Handler
from blueprints.fields import Answer, Body, ListQuery
from blueprints.idempotency import once, refuse_key
from blueprints.shapes import WireInstant
from restante.errors import (
    IdempotencyInFlight,
    IdempotencyKeyReused,
    PageTokenInvalid,
    TooManyKeys,
    ValidationFailed,
)
from restante.identity.machine_credentials import (
    MOST_PUBLIC_KEYS,
    Credential,
    add_key,
    add_secret,
    list_credentials,
    read_credential,
    revoke_credential,
)
from restante.identity.principal import PrincipalKind
from restante.identity.roles import Right
from restante.inbox.envelope import instant
from restante.storage.transaction import Session

_JWK = {"kty": "OKP", "crv": "Ed25519", "x": "oVr7WXWFMGYqOGAIQsD4XbBIp3nNtbCRY3LzLcBYY9Q"}


class CredentialBody(Body):
    """A secret that is made here, or the public half of a key of its own."""

    type: Literal["client_secret", "public_jwk"]
    public_jwk: dict[str, Any] | None = None


class OneCredential(Answer):
    """A credential that is good. `host` and `expires_at` are those of a device's login."""

    credential_id: str
    type: Literal["client_secret", "public_jwk", "device"]
    created_at: WireInstant
    expires_at: WireInstant | None
    host: str | None
    public_jwk: dict[str, str] | None


class NewCredential(OneCredential):
    """The credential. `client_secret` is there for a secret, this once."""

    client_id: str
    client_secret: str | None = None


class Credentials(Answer):
    """A page of the good ones, oldest first."""

    credentials: list[OneCredential]
    next_page_token: str | None


class RevokedCredential(Answer):
    """It proves nothing any more."""

    credential_id: str
    revoked_at: WireInstant


_SECRET: dict[str, Any] = {
    "credential_id": examples.KEY_ID,
    "type": "client_secret",
    "created_at": examples.CREATED_AT,
    "expires_at": None,
    "host": None,
    "public_jwk": None,
}
_KEY: dict[str, Any] = {**_SECRET, "type": "public_jwk", "public_jwk": _JWK}


def _route(endpoint: Endpoint, rule: str, name: str, handler: Handler) -> None:
    """Under a name of its own, which is the operation's in the document."""
    handler.__name__ = name
    endpoint.route(admin, rule)(handler)


def _routes(kind: PrincipalKind, below: str, an: str, client_id: str) -> None:
    """Those of agents, or of services."""
    named = f"{kind}_id"

    def list_all(session: Session, call: Call) -> Reply:
        asked: ListQuery = call.query
        page = list_credentials(
            session,
            administrator(call),
            kind,
            call.path[named],
            limit=asked.limit,
            token=asked.page_token,
        )
        listed = list(map(_shown, page.credentials))
        return Reply({"credentials": listed, "next_page_token": page.next_page_token})

    def make(session: Session, call: Call) -> Reply:
        return _make(session, call, kind, call.path[named])

    def revoke(session: Session, call: Call) -> Reply:
        credential_id = call.path["credential_id"]
        revoked_at = revoke_credential(
            session, administrator(call), kind, call.path[named], credential_id
        )
        return Reply({"credential_id": credential_id, "revoked_at": instant(revoked_at)})

    _route(
        Endpoint(
            method="GET",
            access=having(Right.AGENTS_READ),
            tag=TAG,
            summary=f"List {an}'s credentials",
            description="Those that are good now, logins of devices too, oldest first; never a secret.",
            query=ListQuery,
            answer=Credentials,
            answer_examples={"two": {"credentials": [_SECRET, _KEY], "next_page_token": None}},
            problems=(PageTokenInvalid,),
        ),
        f"{below}/credentials",
        f"list_{kind}_credentials",
        list_all,
    )
    _route(
        Endpoint(
            method="POST",
            access=having(Right.CREDENTIALS_WRITE),
            tag=TAG,
            summary=f"Make {an} a credential",
            description="With `client_secret` a secret is made; two may be live, so that one can be rotated: "
            "make the second, have it used, revoke the first. With `public_jwk` (Ed25519, P-256, or RSA of "
            "at least 2048 bits) a key of its own is registered for `private_key_jwt`; "
            f"{MOST_PUBLIC_KEYS} may be live. Whoever makes a credential may be whom it is for, so it takes "
            "what giving that one's scopes takes, but for those that the token holds itself: every `tenant:` "
            "scope of it, and for the rest `tenant:grants:write`. An Idempotency-Key is taken with "
            "`public_jwk` only: a secret is not kept.",
            body=CredentialBody,
            examples={
                "a secret": {"type": "client_secret"},
                "a key of its own": {"type": "public_jwk", "public_jwk": _JWK},
            },
            answer=NewCredential,
            answer_examples={
                "a secret": {
                    **_SECRET,
                    "client_id": client_id,
                    "client_secret": "rst_h3Zk8Wm1Qx5vT9bN2cR7yLp4Ds6Ff0Gj-aEiOuKqVMs",
                },
                "a key": {**_KEY, "client_id": client_id},
            },
            status=201,
            problems=(TooManyKeys, IdempotencyKeyReused, IdempotencyInFlight),
            creates=True,
        ),
        f"{below}/credentials",
        f"make_{kind}_credential",
        make,
    )
    _route(
        Endpoint(
            method="DELETE",
            access=having(Right.CREDENTIALS_WRITE),
            tag=TAG,
            summary=f"Revoke {an}'s credential",
            description="It ends with its tokens, its signing keys and, if it is a device's, its login, "
            "within a second on every server. Revoking it again answers the same.",
            answer=RevokedCredential,
            answer_examples={
                "revoked": {"credential_id": examples.KEY_ID, "revoked_at": examples.LATER}
            },
        ),
        f"{below}/credentials/<credential_id>",
        f"revoke_{kind}_credential",
        revoke,
    )


def _make(session: Session, call: Call, kind: PrincipalKind, public_id: str) -> Reply:
    body: CredentialBody = call.body
    who = administrator(call)
    if body.type == "client_secret":
        refuse_key(call)
        if body.public_jwk is not None:
            raise ValidationFailed.at("/public_jwk", "goes with type public_jwk only")
        made = add_secret(session, who, kind, public_id)
        told = {"client_id": public_id, "client_secret": made.secret}
        return Reply({**_shown(made), **told}, 201)
    jwk = body.public_jwk
    if jwk is None:
        raise ValidationFailed.at("/public_jwk", "is required with type public_jwk")
    return once(
        session,
        call,
        lambda: add_key(session, who, kind, public_id, public_jwk=jwk).public_id,
        render=lambda made: {
            **_shown(read_credential(session, who, kind, public_id, made)),
            "client_id": public_id,
        },
    )


def _shown(credential: Credential) -> dict[str, Any]:
    return {
        "credential_id": credential.public_id,
        "type": credential.kind,
        "created_at": instant(credential.created_at),
        "expires_at": instant(credential.expires_at),
        "host": credential.host,
        "public_jwk": credential.public_jwk,
    }


_routes(PrincipalKind.AGENT, "/agents/<agent_id>", "an agent", examples.AGENT_ID)
_routes(PrincipalKind.SERVICE, "/services/<service_id>", "a service", examples.SERVICE_ID)

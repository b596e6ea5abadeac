"""Clients as authlib sees them: proved by a secret or an assertion, or public and only named."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from enum import StrEnum

from authlib.oauth2.rfc6749 import ClientMixin

from blueprints.oauth.forms import Proof
from restante.audit.actions import ActorKind
from restante.audit.entries import Actor, Origin
from restante.identity.assertions import authenticate_by_assertion
from restante.identity.credentials import Client, authenticate_client
from restante.identity.device_logins import may_be_public
from restante.identity.principal import PrincipalKind
from restante.identity.token_refusals import Attempt
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Session


class Method(StrEnum):
    """How a client authenticates (RFC 7591, section 2)."""

    BASIC = "client_secret_basic"
    ASSERTION = "private_key_jwt"
    NONE = "none"


PROVING = (Method.BASIC, Method.ASSERTION)
ANY = (*PROVING, Method.NONE)


class KnownClient(ClientMixin):  # type: ignore[misc] # authlib has no types
    """A client with its client_id. `proved` None: it is public, anybody may say so."""

    def __init__(self, name: str, method: Method, proved: Client | None) -> None:
        self.name = name
        self.method = method
        self.proved = proved

    def origin(self, attempt: Attempt) -> Origin:
        """Who does what the request asks for: proved, or only said so."""
        if self.proved is None:
            return attempt.by
        return replace(attempt.by, actor=Actor(ActorKind(self.proved.kind.value), self.name))

    def get_client_id(self) -> str:
        return self.name

    @property
    def proof(self) -> Client:
        """What it has proved; for endpoints that take no other clients."""
        if self.proved is None:
            raise LookupError("a public client where only others are let in")
        return self.proved

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        return method == self.method

    def check_grant_type(self, grant_type: str) -> bool:
        # which methods a grant takes decides
        return True


def authenticate(
    session: Session, proof: Proof, *, methods: Collection[str], audiences: Collection[str]
) -> KnownClient | None:
    """The client that the proof holds for; None alike for an unknown client and a wrong proof."""
    proved = None
    if proof.basic is not None:
        method = Method.BASIC
        sent = proof.basic
        proved = authenticate_client(session, sent.client_id, sent.client_secret)
    elif proof.assertion is not None:
        method = Method.ASSERTION
        proved = authenticate_by_assertion(session, proof.assertion, audiences=audiences)
    else:
        method = Method.NONE
    if method not in methods:
        return None
    if method is Method.NONE:
        named = proof.named
        if named is None or not may_be_public(named):
            return None
        return KnownClient(named, method, None)
    if proved is None:
        return None
    prefix = Prefix.AGENT if proved.kind is PrincipalKind.AGENT else Prefix.SERVICE
    return KnownClient(encode_id(prefix, proved.principal_id), method, proved)

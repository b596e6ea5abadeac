"""A served installation that is attacked, with who lives there made for each test anew."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from joserfc.jwk import OKPKey
from sqlalchemy import select

from restante.identity.agents import create_agent
from restante.identity.machines import Enrolled
from restante.identity.projects import create_project
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.identity.token_keys import TokenKeys
from restante.storage.clock import database_now
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.tables.audit import audit_entry
from restante.storage.transaction import Database
from tests.attacks.wire import Answer, Fields, Wire, basic, bearer
from tests.oauth import forging
from tests.support.serving import SECRET_KEY, Served

T = TypeVar("T")
JSON = {"Content-Type": "application/json"}


@dataclass
class Arena:
    """The server, its database beside it, and the key that it signs tokens with."""

    served: Served
    database: Database
    log: Path

    @property
    def issuer(self) -> str:
        return self.served.url

    def wire(self, address: str = "127.0.0.1") -> Wire:
        return Wire("127.0.0.1", self.served.port, address)

    def run(self, work: Callable[[Any], T]) -> T:
        return self.database.run(work)

    def change(self, statement: Any) -> None:
        """As an operator or time would: one statement."""
        self.run(lambda session: session.connection().execute(statement))

    def now(self) -> int:
        """The database's clock, in seconds since 1970."""
        return int(self.run(database_now).replace(tzinfo=UTC).timestamp())

    @cached_property
    def token_keys(self) -> TokenKeys:
        return TokenKeys(self.issuer, [SECRET_KEY])

    def own_key(self) -> tuple[str, OKPKey]:
        """The id and private half of the key that the server signs with."""
        return self.run(lambda s: self.token_keys.keys.signer(s, database_now(s)))

    def tenant(self, *projects: str, require_signatures: bool = False) -> Tenant:
        """A new tenant with projects `a` and `b`, or those named."""

        def make(session: Any) -> bytes:
            made = create_tenant(
                session, f"t-{secrets.token_hex(8)}", require_signatures=require_signatures
            )
            for slug in projects or ("a", "b"):
                create_project(session, made.id, slug)
            return made.id

        return Tenant(self, self.run(make))

    def audited(self, action: str, target: str | None = None) -> list[Any]:
        """Entries of an action, oldest first."""
        wanted = select(audit_entry).where(audit_entry.c.action == action)
        if target is not None:
            wanted = wanted.where(audit_entry.c.target == target)
        return self.run(
            lambda s: list(s.connection().execute(wanted.order_by(audit_entry.c.at)).all())
        )


@dataclass
class Tenant:
    arena: Arena
    id: bytes

    def agent(self, *grants: str, name: str | None = None) -> Attacker:
        """A new agent with grants, or with read and claim of project a."""
        granted = grants or ("agent:a:read", "agent:a:claim")
        made = self.arena.run(
            lambda s: create_agent(
                s, self.id, name=name or f"n-{secrets.token_hex(6)}", grants=granted
            )
        )
        return self._somebody(Prefix.AGENT, made)

    def service(self, *scopes: str) -> Attacker:
        made = self.arena.run(
            lambda s: create_service(s, self.id, name=f"n-{secrets.token_hex(6)}", scopes=scopes)
        )
        return self._somebody(Prefix.SERVICE, made)

    def _somebody(self, prefix: Prefix, made: Enrolled) -> Attacker:
        return Attacker(self.arena, self, made.id, encode_id(prefix, made.id), made.client_secret)


@dataclass
class Attacker:
    """An agent or service, honest or not, and the address it calls from."""

    arena: Arena
    tenant: Tenant
    raw: bytes
    id: str
    secret: str
    token: str = field(default="", repr=False)
    address: str = "127.0.0.1"

    @property
    def wire(self) -> Wire:
        return self.arena.wire(self.address)

    @property
    def basic(self) -> dict[str, str]:
        return basic(self.id, self.secret)

    def ask(self, scope: str | None = None, **form: str) -> Answer:
        """The answer to a token request with the secret."""
        asked = {"grant_type": "client_credentials", **form}
        if scope is not None:
            asked["scope"] = scope
        return self.wire.form("/oauth/token", self.basic, **asked)

    def signed_in(self, scope: str | None = None) -> Attacker:
        """The same one with a new token."""
        answer = self.ask(scope)
        assert answer.status == 200, answer.body
        return replace(self, token=answer.json["access_token"])

    def path(self, path: str) -> str:
        """`A/…`: below its own address."""
        return f"/api/v1/agents/{self.id}/{path[2:]}" if path.startswith("A/") else path

    def call(
        self, method: str, path: str, body: Any = None, fields: Fields | None = None
    ) -> Answer:
        """The answer to a call with its token, or with the fields given."""
        given = bearer(self.token) if fields is None else fields
        pairs = [*(given.items() if hasattr(given, "items") else given)]
        if body is None:
            return self.wire.send(method, self.path(path), pairs)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.wire.send(method, self.path(path), [*pairs, *JSON.items()], content)

    def stats(self, token: str | None = None) -> Answer:
        """The cheapest call that a token opens."""
        return self.call(
            "GET", "A/inbox/stats", fields=bearer(self.token if token is None else token)
        )

    def publish(self, *recipients: Attacker, **said: Any) -> Answer:
        """To project a, as somebody with a token that may."""
        ids = [one.id for one in recipients]
        sent = {"recipients": ids, "project": "a", "type": "t", "payload": {"n": 1}, **said}
        return self.call("POST", "/api/v1/events", sent)

    def bent(self, **changes: Any) -> str:
        """Its token with other claims (None: left out), signed by the server's own key."""
        claims = {**forging.payload_of(self.token), **changes}
        return self.forged(claims={k: v for k, v in claims.items() if v is not None})

    def forged(
        self,
        *,
        header: dict[str, Any] | bytes | None = None,
        claims: dict[str, Any] | bytes | None = None,
        key: OKPKey | None = None,
    ) -> str:
        """A token with an Ed25519 signature by the server's key, or another, whatever it says."""
        made_by = key or self.arena.own_key()[1]
        return forging.signed(
            forging.header_of(self.token) if header is None else header,
            forging.payload_of(self.token) if claims is None else claims,
            made_by,
        )

    def with_header(self, **changes: Any) -> str:
        """Its token with other header members (None: left out), signed by the server's own key."""
        header = {**forging.header_of(self.token), **changes}
        return self.forged(header={k: v for k, v in header.items() if v is not None})


def unknown_id(prefix: str) -> str:
    """An id that nobody has."""
    return f"{prefix}_{new_id().hex()}"

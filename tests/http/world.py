"""Two tenants with agents, services and their tokens, and how tests call the API as one of them."""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

import extensions
from app import create_app
from config import Settings
from restante.identity.agents import create_agent
from restante.identity.machines import Enrolled
from restante.identity.projects import create_project
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.identity.tokens import LIFETIME_SECONDS
from restante.storage.ids import Prefix, encode_id
from tests.support.serving import SECRET_KEY
from tests.support.warm import share_what_is_compiled

ALL_VERBS = ("read", "claim", "publish", "memory")

share_what_is_compiled()


def verbs(project: str, *names: str) -> list[str]:
    """Scopes of a project; all four of this API where none is named."""
    return [f"agent:{project}:{name}" for name in names or ALL_VERBS]


@dataclass
class Caller:
    """Somebody with a token. `A/…` in an address is its own inbox's."""

    client: FlaskClient
    id: str
    secret: str
    token: str = ""

    def call(self, method: str, path: str, **given: Any) -> TestResponse:
        """The answer. `json`, `data`, `headers` and so on are the test client's."""
        headers = {"Authorization": f"Bearer {self.token}", **given.pop("headers", {})}
        return self.client.open(self.address(path), method=method, headers=headers, **given)

    def address(self, path: str) -> str:
        if path.startswith("A/"):
            return f"/api/v1/agents/{self.id}/{path[2:]}"
        return path if path.startswith("/") else f"/api/v1/{path}"

    def get(self, path: str, **given: Any) -> TestResponse:
        return self.call("GET", path, **given)

    def post(self, path: str, body: Any = None, **given: Any) -> TestResponse:
        if body is not None:
            given["json"] = body
        return self.call("POST", path, **given)

    def claim(self, **asked: Any) -> list[dict[str, Any]]:
        """The events of a claim that must succeed."""
        answer = self.post("A/inbox/claim", asked)
        assert answer.status_code == 200, answer.text
        events: list[dict[str, Any]] = answer.json["events"]
        return events

    def publish(self, *recipients: Caller, **said: Any) -> list[dict[str, Any]]:
        """The events of a publication that must succeed."""
        body = {
            "recipients": [recipient.id for recipient in recipients],
            "project": "main",
            "type": "note",
            "payload": {"n": 1},
            **said,
        }
        answer = self.post("events", body)
        assert answer.status_code == 201, answer.text
        events: list[dict[str, Any]] = answer.json["events"]
        return events


@dataclass
class World:
    """An application on an empty database, and who lives there."""

    app: Flask
    client: FlaskClient
    tenants: dict[str, bytes] = field(default_factory=dict)
    signed_in: list[tuple[Caller, list[str]]] = field(default_factory=list)

    @property
    def house(self) -> extensions.House:
        found: extensions.House = self.app.extensions["restante"]
        return found

    def tenant(self, name: str, *projects: str) -> bytes:
        """A tenant with projects; its id."""

        def make(session: Any) -> bytes:
            made = create_tenant(session, name, require_signatures=False)
            for slug in projects:
                create_project(session, made.id, slug)
            return made.id

        self.tenants[name] = self.house.database.run(make)
        return self.tenants[name]

    def agent(
        self, tenant: str, name: str, grants: list[str], *, scopes: list[str] | None = None
    ) -> Caller:
        """An agent; its token has all that is granted, or the scopes named."""
        made = self.house.database.run(
            lambda s: create_agent(s, self.tenants[tenant], name=name, grants=tuple(grants))
        )
        return self.caller(Prefix.AGENT, made, grants if scopes is None else scopes)

    def service(self, tenant: str, name: str, scopes: list[str]) -> Caller:
        """A service with a token that has all its scopes."""
        made = self.house.database.run(
            lambda s: create_service(s, self.tenants[tenant], name=name, scopes=tuple(scopes))
        )
        return self.caller(Prefix.SERVICE, made, scopes)

    def caller(self, prefix: Prefix, made: Enrolled, scopes: list[str]) -> Caller:
        """One that has signed in."""
        one = Caller(self.client, encode_id(prefix, made.id), made.client_secret)
        return self.narrowed(one, scopes)

    def narrowed(self, caller: Caller, scopes: list[str]) -> Caller:
        """The same one with a token that has these scopes."""
        made = replace(caller, token=self.token(caller, scopes))
        self.signed_in.append((made, scopes))
        return made

    def token(self, caller: Caller, scopes: list[str]) -> str:
        """A new token of somebody's, with these scopes."""
        secret = b64encode(f"{caller.id}:{caller.secret}".encode()).decode()
        answer = self.client.post(
            "/oauth/token",
            data={"grant_type": "client_credentials", "scope": " ".join(scopes)},
            headers={"Authorization": f"Basic {secret}"},
        )
        assert answer.status_code == 200, answer.text
        token: str = answer.json["access_token"]
        return token

    def pass_time(self, seconds: float) -> None:
        """Move the database's clock, as the application sees it from now on.

        Who has signed in does so again where its token may have run out.
        """
        self.house.database.clock_offset += timedelta(seconds=seconds)
        self.house.authority._keys.expire()
        if seconds > LIFETIME_SECONDS / 2:
            for caller, scopes in self.signed_in:
                caller.token = self.token(caller, scopes)


@contextmanager
def open_world(url: str, settings: dict[str, object]) -> Iterator[World]:
    """The application on a database that has its tables; tenant acme with main and other."""
    app = create_app(Settings(**{"database_url": url, "secret_key": SECRET_KEY, **settings}))
    one = World(app, app.test_client())
    one.tenant("acme", "main", "other")
    yield one
    with app.app_context():
        extensions.db.engine.dispose()


def unknown_id(prefix: str) -> str:
    """An id that nobody has."""
    return f"{prefix}_{uuid.uuid4().hex}"

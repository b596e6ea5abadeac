"""An application with the OAuth endpoints and one address that tells who calls."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from flask import Flask, Response, jsonify, request
from flask.testing import FlaskClient
from sqlalchemy import Engine
from werkzeug.test import TestResponse

import extensions
from blueprints import oauth, problems
from blueprints.principal import authenticate
from config import Settings
from restante.identity.agents import create_agent
from restante.identity.machines import Enrolled
from restante.identity.projects import create_project
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.storage.ids import Prefix, encode_id, new_id
from tests.oauth.logging_in import Login, Operator
from tests.support.databases import TestDatabase, empty_tables
from tests.support.serving import SECRET_KEY

ISSUER = "https://mail.example"


def basic(client_id: str, secret: str) -> str:
    """The Authorization field of a client."""
    return "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()


@dataclass
class Tenant:
    """A tenant that tests fill; ids are bytes."""

    database: TestDatabase
    id: bytes

    def project(self, slug: str) -> bytes:
        return self.database.run(lambda s: create_project(s, self.id, slug)).id

    def agent(self, name: str, *grants: str) -> Enrolled:
        return self.database.run(lambda s: create_agent(s, self.id, name=name, grants=grants))

    def service(self, name: str, *scopes: str) -> Enrolled:
        return self.database.run(lambda s: create_service(s, self.id, name=name, scopes=scopes))


@dataclass
class Server:
    """The application under test, and what to ask it."""

    app: Flask
    database: TestDatabase
    client: FlaskClient
    moments: list[float] = field(default_factory=lambda: [1000.0])

    @property
    def house(self) -> extensions.House:
        found: extensions.House = self.app.extensions["restante"]
        return found

    def tenant(self, name: str = "acme") -> Tenant:
        made = self.database.run(lambda s: create_tenant(s, name, require_signatures=False))
        return Tenant(self.database, made.id)

    def ask(self, who: Enrolled, scope: str | None = None, **form: str) -> TestResponse:
        """The answer to a token request with the right secret."""
        wanted = {
            "grant_type": "client_credentials",
            **({} if scope is None else {"scope": scope}),
            **form,
        }
        authorization = basic(public_id(who), who.client_secret)
        return self.client.post(
            "/oauth/token", data=wanted, headers={"Authorization": authorization}
        )

    def token(self, who: Enrolled, scope: str | None = None) -> str:
        answer = self.ask(who, scope)
        assert answer.status_code == 200, answer.text
        return str(answer.json["access_token"])

    def call(self, token: str) -> TestResponse:
        return self.client.get("/whoami", headers={"Authorization": f"Bearer {token}"})

    def pass_time(self, seconds: float) -> None:
        """Let the caches of the process age."""
        self.moments[0] += seconds


def public_id(who: Enrolled) -> str:
    prefix = Prefix.AGENT if who.kind == "agent" else Prefix.SERVICE
    return encode_id(prefix, who.id)


def make_app(database: TestDatabase) -> Flask:
    app = Flask("restante")
    settings = Settings(database_url=database.url, secret_key=SECRET_KEY, public_url=ISSUER)
    extensions.install(app, settings)
    problems.install(app)
    oauth.install(app)

    @app.get("/whoami")
    def whoami() -> Response:
        _, caller = authenticate(request)
        return jsonify(id=caller.public_id, scopes=sorted(map(str, caller.scopes)))

    return app


@pytest.fixture
def sqlite_database(tables_on: Callable[[str], tuple[str, Engine]]) -> TestDatabase:
    """For what does not depend on the database."""
    url, engine = tables_on("sqlite")
    empty_tables(engine)
    return TestDatabase("sqlite", url, engine)


@pytest.fixture
def server(database: TestDatabase) -> Iterator[Server]:
    app = make_app(database)
    one = Server(app, database, app.test_client())
    one.house.authority._monotonic = lambda: one.moments[0]
    yield one
    with app.app_context():
        extensions.db.engine.dispose()


@pytest.fixture
def login(server: Server) -> Login:
    """An agent bob with grants on p1, and an operator of its tenant."""
    tenant = server.tenant()
    tenant.project("p1")
    bob = tenant.agent("bob", "agent:p1:read", "agent:p1:claim", "agent:p1:publish")
    return Login(server, tenant, bob, Operator(new_id(), tenant.id))

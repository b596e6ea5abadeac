"""The product as the bench runs it: `restante serve` on a database of its own, and its people."""

from __future__ import annotations

import base64
import http.client
import json
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from bench.sides import PROJECT, Tokens
from restante.identity.agents import create_agent
from restante.identity.machines import Enrolled
from restante.identity.projects import create_project
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.storage.engine import make_engine
from restante.storage.ids import Prefix, encode_id
from restante.storage.transaction import Database, Session
from tests.support.serving import RestanteCommand, Served

READ_AND_CLAIM = (f"agent:{PROJECT}:read", f"agent:{PROJECT}:claim")
PUBLISH = ("tenant:events:publish",)


@dataclass(frozen=True)
class Agent:
    """An agent of the bench, with a token that lives ten minutes."""

    agent_id: str
    raw_id: bytes
    tokens: Tokens


class Product:
    """A server on `url` (an empty database), with one tenant, one project and one producer."""

    def __init__(self, url: str, folder: Path, *, workers: int = 2) -> None:
        RestanteCommand(url).upgrade()
        self.url = url
        self.database = Database(make_engine(url, slots=2))
        self.served = Served(url, log=folder / "restante.log", workers=workers)
        self.served.wait_until_ready()
        self._made = 0
        self.tenant_id = b""
        self.producer = self.database.run(self._settle_in)

    @property
    def port(self) -> int:
        return self.served.port

    def agents(self, count: int) -> list[Agent]:
        """New agents with empty inboxes, and tokens for them and the producer."""
        made = self.database.run(lambda session: self._enrol(session, count))
        publish = self._token(Prefix.SERVICE, self.producer, PUBLISH)
        return [
            Agent(
                encode_id(Prefix.AGENT, agent.id),
                agent.id,
                Tokens(publish, self._token(Prefix.AGENT, agent, READ_AND_CLAIM)),
            )
            for agent in made
        ]

    def stop(self) -> None:
        """End the server."""
        self.database.engine.dispose()
        self.served.stop()

    def _settle_in(self, session: Session) -> Enrolled:
        tenant = create_tenant(session, "bench", require_signatures=False)
        self.tenant_id = tenant.id
        create_project(session, tenant.id, PROJECT)
        return create_service(session, tenant.id, name="producer", scopes=list(PUBLISH))

    def _enrol(self, session: Session, count: int) -> list[Enrolled]:
        self._made += count
        numbers = range(self._made - count, self._made)
        return [
            create_agent(session, self.tenant_id, name=f"agent-{n}", grants=READ_AND_CLAIM)
            for n in numbers
        ]

    def _token(self, prefix: Prefix, who: Enrolled, scopes: tuple[str, ...]) -> str:
        secret = f"{encode_id(prefix, who.id)}:{who.client_secret}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(
            "POST",
            "/oauth/token",
            urllib.parse.urlencode({"grant_type": "client_credentials", "scope": " ".join(scopes)}),
            {
                "Content-Type": "application/x-www-form-urlencoded",
                "Authorization": f"Basic {base64.b64encode(secret.encode()).decode()}",
            },
        )
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"no token: {answer.status} {content[:300]!r}")
        token: str = json.loads(content)["access_token"]
        return token

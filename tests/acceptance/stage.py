"""A served installation with a tenant, an agent and a producer, called over real HTTP."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from restante.identity.agents import create_agent
from restante.identity.machines import Enrolled
from restante.identity.projects import create_project
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.storage.ids import Prefix, encode_id, new_id
from restante.storage.transaction import Database
from tests.support.listening import Listener
from tests.support.serving import Served


def call(
    url: str, token: str = "", body: Any = None, *, method: str | None = None, timeout: float = 40
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of an answer; a refusal is an answer too."""
    request = urllib.request.Request(url, method=method)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    if body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return answer.status, json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"{}")


def token_of(url: str, client: dict[str, Any], *, scope: str = "") -> str:
    """An access token by client_credentials, for these scopes or those that one gets without asking."""
    asked = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
    request = urllib.request.Request(f"{url}/oauth/token", urlencode(asked).encode())
    pair = f"{client['client_id']}:{client['client_secret']}".encode()
    request.add_header("Authorization", f"Basic {base64.b64encode(pair).decode()}")
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(json.loads(answer.read())["access_token"])


@dataclass
class Stage:
    """Who is on it: a new tenant, its project `p`, an agent and a producer."""

    database: Database
    served: Served
    agent: dict[str, Any] = field(init=False)
    producer: dict[str, Any] = field(init=False)
    tokens: dict[str, str] = field(default_factory=dict)
    listeners: list[Listener] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._tenant = self.database.run(
            lambda session: create_tenant(session, new_id().hex(), require_signatures=False)
        )
        self.database.run(lambda session: create_project(session, self._tenant.id, "p"))
        self.agent = self.enrol("a")
        scopes = ("tenant:events:publish",)
        made = self.database.run(
            lambda session: create_service(session, self._tenant.id, name="s", scopes=scopes)
        )
        self.producer = _client(Prefix.SERVICE, made)

    def enrol(
        self, name: str, *, grants: Sequence[str] = ("agent:*:read", "agent:*:claim")
    ) -> dict[str, Any]:
        """Another agent; it may read and claim in every project, or do what is granted."""
        given = tuple(grants)
        made = self.database.run(
            lambda session: create_agent(session, self._tenant.id, name=name, grants=given)
        )
        return _client(Prefix.AGENT, made)

    def administrator(self) -> dict[str, Any]:
        """A service that may change the tenant, its agents and its settings."""
        scopes = ("tenant:agents:read", "tenant:agents:write", "tenant:grants:write")
        made = self.database.run(
            lambda session: create_service(session, self._tenant.id, name="adm", scopes=scopes)
        )
        return _client(Prefix.SERVICE, made)

    def token(self, client: dict[str, Any]) -> str:
        """Its token, got once."""
        client_id = client["client_id"]
        if client_id not in self.tokens:
            self.tokens[client_id] = token_of(self.served.url, client)
        return self.tokens[client_id]

    def address(self, path: str, *, url: str = "", agent: dict[str, Any] | None = None) -> str:
        """`path` under the agent's own address."""
        agent_id = (agent or self.agent)["agent_id"]
        return f"{url or self.served.url}/api/v1/agents/{agent_id}/{path}"

    def listen(
        self,
        query: str = "",
        *,
        url: str = "",
        agent: dict[str, Any] | None = None,
        method: str = "GET",
    ) -> Listener:
        """Subscribe."""
        address = self.address(f"subscribe{query}", url=url, agent=agent)
        listener = Listener(address, self.token(agent or self.agent), method)
        self.listeners.append(listener)
        return listener

    def publish(self, *, url: str = "", **members: Any) -> dict[str, Any]:
        """One event to the agent."""
        body = {"recipients": [self.agent["agent_id"]], "project": "p", "type": "t", "payload": {}}
        address = f"{url or self.served.url}/api/v1/events"
        status, told = call(address, self.token(self.producer), {**body, **members})
        assert status == 201, told
        event: dict[str, Any] = told["events"][0]
        return event

    def claim(self, **members: Any) -> list[dict[str, Any]]:
        """Claim as the agent."""
        status, told = call(self.address("inbox/claim"), self.token(self.agent), members)
        assert status == 200, told
        events: list[dict[str, Any]] = told["events"]
        return events

    def close(self) -> None:
        """Hang up every listener."""
        for listener in self.listeners:
            listener.close()


def _client(prefix: Prefix, made: Enrolled) -> dict[str, Any]:
    public_id = encode_id(prefix, made.id)
    return {"agent_id": public_id, "client_id": public_id, "client_secret": made.client_secret}

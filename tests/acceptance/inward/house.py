"""The served installation of the network, as its agent and its administrator call it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import trustme
from sqlalchemy import delete

from restante.errors import Overloaded
from restante.identity.agents import create_agent
from restante.identity.projects import create_project
from restante.identity.services import create_service
from restante.identity.tenants import create_tenant
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.callbacks import callback_challenge
from tests.acceptance.conftest import upgraded
from tests.acceptance.stage import call, token_of
from tests.http.callbacks import SECRET
from tests.support.serving import Served

OURS, OUR_ADDRESS = "inbox.example.org", "93.184.215.20"
GRANTS = ("agent:p:read", "agent:p:claim", "agent:p:callback")


def answered(ask: Callable[[], Any]) -> Any:
    """503 says that nothing was done, and to ask again: SQLite has one writer, and many ask at once here."""
    while (got := ask())[0] == 503:
        pass
    return got


class House:
    """A tenant, its agent and a service, on SQLite, behind a public URL that is not where it is called."""

    def __init__(self, folder: Path, authority: trustme.CA) -> None:
        authority.cert_pem.write_to_path(str(folder / "ca.pem"))
        url = f"sqlite:///{folder / 'restante.db'}"
        self._database = upgraded(url)
        run = self._database.run
        tenant = run(lambda s: create_tenant(s, "acme", require_signatures=False))
        run(lambda s: create_project(s, tenant.id, "p"))
        agent = run(lambda s: create_agent(s, tenant.id, name="a", grants=GRANTS))
        scopes = ("tenant:events:publish", "tenant:callbacks:write")
        service = run(lambda s: create_service(s, tenant.id, name="s", scopes=scopes))
        settings = {
            "RESTANTE_PUBLIC_URL": f"https://{OURS}",
            "RESTANTE_EGRESS_OWN": OUR_ADDRESS,
            "RESTANTE_EGRESS_CA_FILE": str(folder / "ca.pem"),
        }
        self._served = Served(url, log=folder / "serve.log", settings=settings)
        self._served.wait_until_ready()
        self.agent_id = encode_id(Prefix.AGENT, agent.id)
        at = self._served.url
        known = {"client_id": self.agent_id, "client_secret": agent.client_secret}
        self._agent = token_of(at, known, scope=" ".join(GRANTS))
        service_id = encode_id(Prefix.SERVICE, service.id)
        self._admin = token_of(
            at, {"client_id": service_id, "client_secret": service.client_secret}
        )

    def agent(self, path: str = "", body: Any = None, *, method: str | None = None) -> Any:
        """Status and JSON of a call of the agent, below its callbacks."""
        own = f"{self._served.url}/api/v1/agents/{self.agent_id}/callbacks{path}"
        return answered(lambda: call(own, self._agent, body, method=method))

    def admin(self, path: str, body: Any) -> Any:
        """Status and JSON of a call of the service."""
        return answered(lambda: call(f"{self._served.url}/api/v1/{path}", self._admin, body))

    def register(self, url: str) -> Any:
        """Status and JSON of a registration, whatever has been used of its host's budget."""
        while (got := self.agent("", {"url": url, "secret": SECRET, "mode": "notify"}))[0] == 429:
            with suppress(Overloaded):
                self._database.run(lambda s: s.connection().execute(delete(callback_challenge)))
        return got

    def close(self) -> None:
        """End it."""
        self._served.kill()
        self._database.engine.dispose()

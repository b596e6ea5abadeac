"""An admin at his browser, and an agent whose scopes he changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from restante.audit.entries import IN_PROCESS
from restante.identity.administrators import Administrator
from restante.identity.roles import Role
from restante.identity.scope_templates import Rule, add_template
from restante.identity.scopes import Verb
from tests.console.browsing import Browser
from tests.http.world import Caller, World

PREVIEW, APPLY = "/scopes/preview", "/scopes/apply"


@dataclass
class Desk:
    """An admin at his browser, and an agent whose scopes he changes."""

    world: World
    agent: Caller
    admin: Browser

    def change(self, sign: str, scope: str, agent: str | None = None) -> str:
        return f"{sign}{agent or self.agent.id}.{scope}"

    def sends(self, path: str, *changes: str, why: str = "drafting moves", **also: Any) -> Any:
        form = {"csrf": self.admin.token(), "change": list(changes), "why": why, **also}
        return self.admin.post(path, form)  # type: ignore[arg-type]  # a name may come often

    def held(self) -> list[str]:
        """What is granted, as the administration's API says."""
        return list(self.boss.get(f"admin/agents/{self.agent.id}").json["grants"])

    @property
    def boss(self) -> Caller:
        if not hasattr(self, "_boss"):
            self._boss = self.world.service("acme", "boss", ["tenant:agents:read"])
        return self._boss


def template_of(world: World, tenant: str, project: str = "main") -> str:
    """A template of scopes in that project which the tenant keeps; its id."""
    who = Administrator(world.tenants[tenant], IN_PROCESS, role=Role.TENANT_ADMIN, anew=True)
    rules = [Rule(project, (Verb.READ,))]
    made = world.house.database.run(lambda s: add_template(s, who, "readers", rules))
    return made.public_id

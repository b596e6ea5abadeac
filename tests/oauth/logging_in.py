"""One agent, the operator who approves its device, and the verbs between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select

from restante.audit.entries import IN_PROCESS
from restante.identity.device_logins import LoggedIn, Poll, Started, poll, start
from restante.identity.devices import approve
from restante.identity.logins import RefreshTokens
from restante.identity.machines import Enrolled
from restante.identity.refreshing import Refreshed, refresh
from restante.identity.roles import Role
from restante.storage.ids import Prefix, encode_id
from restante.storage.tables.audit import audit_entry

if TYPE_CHECKING:
    from tests.oauth.conftest import Server, Tenant

TOKENS = RefreshTokens(["k" * 40])


@dataclass(frozen=True)
class Operator:
    id: bytes
    tenant_id: bytes | None
    role: Role = Role.OPERATOR


@dataclass
class Login:
    server: Server
    tenant: Tenant
    bob: Enrolled
    operator: Operator

    def run(self, work: Any) -> Any:
        return self.server.house.database.run(work)

    def pass_time(self, seconds: float) -> None:
        self.server.house.database.clock_offset += timedelta(seconds=seconds)

    def start(self, client: str | None = None, asked: str | None = None) -> Started:
        named = client or encode_id(Prefix.AGENT, self.bob.id)
        return self.run(lambda s: start(s, named, asked=asked, host="shed", address="192.0.2.1"))

    def poll(self, code: str, client: str | None = None) -> LoggedIn | Poll:
        named = client or encode_id(Prefix.AGENT, self.bob.id)
        return self.run(lambda s: poll(s, code, client=named, by=IN_PROCESS))

    def approve(self, code: str, **given: Any) -> Any:
        operator = given.pop("operator", self.operator)
        return self.run(lambda s: approve(s, operator, user_code=code, **given))

    def log_in(self, asked: str | None = None) -> LoggedIn:
        started = self.start(asked=asked)
        assert self.approve(started.user_code)
        found = self.poll(started.device_code)
        assert isinstance(found, LoggedIn)
        return found

    def refresh(
        self, token: str, asked: str | None = None, client: str | None = None
    ) -> Refreshed | None:
        named = client or encode_id(Prefix.AGENT, self.bob.id)
        return self.run(
            lambda s: refresh(s, token, client=named, asked=asked, tokens=TOKENS, by=IN_PROCESS)
        )

    def child(self, token: str) -> str:
        found = self.refresh(token)
        assert found
        return found.refresh_token

    def audited(self, action: str) -> int:
        query = select(func.count()).where(audit_entry.c.action == action)
        return self.run(lambda s: s.connection().execute(query).scalar_one())

"""Operators at the console over the wire: a session's cookie, and forms as its pages have them."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from urllib.parse import urlencode

from sqlalchemy import update

from restante.identity.operators import invite
from restante.identity.roles import Role
from restante.identity.sessions import Method, begin_session
from restante.storage.tables.operators import operator
from tests.attacks.arena import Tenant
from tests.attacks.wire import FORM, Answer, Wire, new_address

_CSRF = re.compile(rb'name="csrf" value="([^"]+)"')


@dataclass(frozen=True)
class Operator:
    """Somebody who is signed in, from an address of his own."""

    id: bytes
    public_id: str
    session: str
    wire: Wire
    origin: str

    def get(self, target: str) -> Answer:
        return self.wire.send("GET", target, {"Cookie": self._cookie})

    def post(self, target: str, *, csrf: str | None = None, **form: str) -> Answer:
        """A form of the page /device, with its hidden token unless another is given."""
        if csrf is None:
            found = _CSRF.search(self.get("/device").body)
            assert found
            csrf = found[1].decode()
        fields = {"Cookie": self._cookie, "Origin": self.origin, "Content-Type": FORM}
        return self.wire.send("POST", target, fields, urlencode({"csrf": csrf, **form}).encode())

    def approve(self, code: str, **form: str) -> Answer:
        return self.post("/device/approve", user_code=code, same="yes", **form)

    def refuse(self, code: str) -> Answer:
        return self.post("/device/refuse", user_code=code)

    @property
    def _cookie(self) -> str:
        return f"restante-session={self.session}"


def new_operator(tenant: Tenant, role: Role = Role.OPERATOR) -> Operator:
    """A new operator of the tenant, signed in a moment ago."""
    arena, email = tenant.arena, f"{secrets.token_hex(6)}@example.com"
    who = arena.run(lambda s: invite(s, tenant.id, email=email, role=role))
    arena.change(update(operator).where(operator.c.operator_id == who.id).values(status="active"))
    session = arena.run(lambda s: begin_session(s, who, method=Method.LINK))
    return Operator(who.id, who.public_id, session, arena.wire(new_address()), arena.issuer)

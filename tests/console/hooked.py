"""An agent that may have callbacks, and an admin who decides about them in a browser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from restante.identity.roles import Role
from restante.storage.ids import Prefix, decode_id
from restante.storage.tables.callbacks import callback
from tests.console.browsing import Browser, signed_in
from tests.console.well_made import check_light, check_made
from tests.http.callbacks import Outside, call_out_to
from tests.http.world import Caller, World, verbs


@dataclass
class Hooked:
    """An agent that may have callbacks, an admin's browser, and what is called."""

    world: World
    agent: Caller
    admin: Browser
    outside: Outside

    def page(self, callback_id: str) -> str:
        assert self.admin.get(f"/callbacks/{callback_id}").status_code == 200
        check_made(self.admin.page)
        check_light(self.admin.page)
        return str(self.admin.page.text)

    def does(self, callback_id: str, step: str, why: str = "agreed") -> Any:
        """The answer to the form of its page."""
        form = {"csrf": self.admin.token(), "why": why}
        return self.admin.post(f"/callbacks/{callback_id}/{step}", form)

    def row(self, callback_id: str) -> Any:
        raw = decode_id(Prefix.CALLBACK, callback_id)
        query = select(callback).where(callback.c.callback_id == raw)
        return self.world.house.database.run(lambda s: s.connection().execute(query).one())


def hooked_in(world: World) -> Hooked:
    """In the tenant acme, with nothing registered yet."""
    agent = world.agent("acme", "classifier", verbs("main", "read", "claim", "callback"))
    outside = call_out_to(world)
    return Hooked(world, agent, signed_in(world, role=Role.TENANT_ADMIN), outside)

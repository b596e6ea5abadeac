"""Somebody's browser before the console: cookies, forms, and the way to a provider and back."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import urlencode

from werkzeug.test import TestResponse

from restante.identity.oidc.configuration import RETURN_PATH
from restante.identity.operators import Operator, invite
from restante.identity.roles import Role
from tests.console.rogue_provider import EMAIL, RogueProvider
from tests.http.world import World


class Visitor:
    """One browser; another visitor has other cookies."""

    def __init__(self, world: World, provider: RogueProvider) -> None:
        self.world = world
        self.provider = provider
        self.base = world.house.settings.public_url
        self.client = world.app.test_client()
        self.shown: TestResponse | None = None

    def get(self, path: str, **given: Any) -> TestResponse:
        self.shown = self.client.get(path, base_url=self.base, **given)
        return self.shown

    def post(self, path: str, **form: str) -> TestResponse:
        """Send a form that carries the token of the page shown last."""
        token = self.token()
        self.shown = self.client.post(path, base_url=self.base, data={"csrf": token, **form})
        return self.shown

    def token(self) -> str:
        assert self.shown is not None
        found = re.search(r'name="csrf" value="([0-9a-f]+)"', self.shown.text)
        assert found, self.shown.text
        return found[1]

    def leave(self, wanted: str = "", **form: str) -> str:
        """The URL of the provider that the console leads to."""
        self.get(f"/sign-in?next={wanted}" if wanted else "/sign-in")
        return self.onward(self.post("/sign-in/oidc", **form))

    def onward(self, leaving: TestResponse) -> str:
        """The URL that a page goes on to."""
        assert leaving.status_code == 200, leaving.text
        found = re.search(r'http-equiv="refresh" content="0;url=([^"]+)"', leaving.text)
        assert found, leaving.text
        return html.unescape(found[1])

    def come_back(self, told: dict[str, str]) -> TestResponse:
        return self.get(f"{RETURN_PATH}?{urlencode(told)}")

    def sign_in(self, wanted: str = "", **claims: Any) -> TestResponse:
        """All the way; `claims` as `RogueProvider.approve` has them."""
        return self.come_back(self.provider.approve(self.leave(wanted), **claims))

    def pass_time(self, seconds: int) -> None:
        """Move the database's clock, and the provider's with it."""
        self.provider.ahead_seconds += seconds
        self.world.pass_time(seconds)

    def is_in(self) -> bool:
        return self.client.get("/account", base_url=self.base).status_code == 200


def invited(world: World, tenant: str = "acme", *, email: str = EMAIL) -> Operator:
    """An operator who was invited and has not been there."""
    return world.house.database.run(
        lambda s: invite(s, world.tenants[tenant], email=email, role=Role.TENANT_ADMIN)
    )

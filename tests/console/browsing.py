"""Operators at their browsers, and devices that wait for them, in a world of tests/http."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from restante.audit.entries import IN_PROCESS
from restante.identity.device_logins import ANY_AGENT, Started, poll, start
from restante.identity.operators import Operator, invite
from restante.identity.roles import Role
from restante.identity.sign_in_links import Purpose, make_link
from restante.storage.tables.audit import audit_entry
from tests.console.html import Element, parse
from tests.http.world import World

SESSION = "restante-session"


@dataclass
class Browser:
    """One browser: its cookies, its address, and the page it shows."""

    world: World
    address: str = "192.0.2.9"
    client: FlaskClient = field(init=False)
    answer: TestResponse = field(init=False)

    def __post_init__(self) -> None:
        self.client = self.world.app.test_client()

    @property
    def page(self) -> Element:
        return parse(self.answer.text)

    @property
    def heading(self) -> str:
        return self.page.one("h1").text

    def ask(self, method: str, path: str, **given: Any) -> TestResponse:
        """The answer, which is then shown; redirects are not followed."""
        given.setdefault("base_url", self.world.house.settings.public_url)
        given.setdefault("environ_base", {"REMOTE_ADDR": self.address})
        self.answer = self.client.open(path, method=method, **given)
        return self.answer

    def get(self, path: str, **given: Any) -> TestResponse:
        return self.ask("GET", path, **given)

    def post(self, path: str, data: dict[str, str] | None = None, **given: Any) -> TestResponse:
        return self.ask("POST", path, data=data or {}, **given)

    def send(self, action: str, index: int = 0, **typed: str) -> TestResponse:
        """Fill in the form of the page that has this action, and send it."""
        return self.post(action, {**self.page.form(action, index), **typed})

    def follow(self) -> TestResponse:
        """Go on to where the answer leads, if it leads anywhere."""
        there = self.answer.headers.get("Location")
        return self.answer if there is None else self.get(there)

    def token(self) -> str:
        """What the forms of this browser carry."""
        return parse(self.get("/account").text).form("/sign-out")["csrf"]

    def cookie(self, name: str = SESSION) -> str | None:
        found = self.client.get_cookie(name, domain="127.0.0.1")
        return None if found is None else found.value

    def signs_in(self, who: Operator, purpose: Purpose = Purpose.SIGN_IN) -> TestResponse:
        """By a new link, whose button is pressed."""
        secret = self.world.house.database.run(lambda s: make_link(s, who, purpose))
        assert self.get(f"/sign-in/{secret}").status_code == 200
        data = {"csrf": self.page.one("input", name="csrf").attributes["value"]}
        return self.post(f"/sign-in/{secret}", data)


def operator_of(
    world: World,
    tenant: str | None = "acme",
    role: Role = Role.OPERATOR,
    email: str = "ops@example.com",
) -> Operator:
    """A new operator; of the platform where no tenant is named."""
    tenant_id = None if tenant is None else world.tenants[tenant]
    return world.house.database.run(lambda s: invite(s, tenant_id, email=email, role=role))


def signed_in(world: World, who: Operator | None = None, **named: Any) -> Browser:
    """A browser in which an operator is signed in."""
    browser = Browser(world)
    assert browser.signs_in(who or operator_of(world, **named)).status_code == 303
    return browser


def device(world: World, client: str = ANY_AGENT, **said: Any) -> Started:
    """A device that waits."""
    told = {
        "asked": None,
        "host": "shed",
        "user_agent": "agent/1.4",
        "address": "192.0.2.1",
        **said,
    }
    started = world.house.database.run(lambda s: start(s, client, **told))
    assert started is not None
    return started


def polled(world: World, started: Started, client: str = ANY_AGENT) -> Any:
    """What the device hears."""
    return world.house.database.run(
        lambda s: poll(s, started.device_code, client=client, by=IN_PROCESS)
    )


def audited(world: World) -> list[Any]:
    """The entries so far."""
    return list(
        world.house.database.run(
            lambda s: s.connection().execute(select(audit_entry).order_by(audit_entry.c.at)).all()
        )
    )


def actions(world: World) -> list[tuple[str, str]]:
    """(action, outcome) of each of them."""
    return [(entry.action, entry.outcome) for entry in audited(world)]

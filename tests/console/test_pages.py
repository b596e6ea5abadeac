"""Signing in and out in the browser's way: pages, cookies, forms."""

from __future__ import annotations

import re

import pytest

from restante.identity.operators import invite
from restante.identity.roles import Role
from restante.identity.sign_in_links import Purpose, make_link
from tests.http.conftest import settings, world  # noqa: F401 - fixtures
from tests.http.world import World


@pytest.fixture
def link(world: World) -> str:  # noqa: F811 - the fixture
    """The path of a one-time link."""

    def make(session: object) -> str:
        who = invite(
            session, world.tenants["acme"], email="ops@example.com", role=Role.TENANT_ADMIN
        )
        return make_link(session, who, Purpose.INVITE)

    return f"/sign-in/{world.house.database.run(make)}"


def token_of(text: str) -> dict[str, str]:
    found = re.search(r'name="csrf" value="([0-9a-f]+)"', text)
    assert found
    return {"csrf": found[1]}


def test_a_link_lets_in_once_and_only_by_its_button(world: World, link: str) -> None:  # noqa: F811 - the fixture
    client, base = world.app.test_client(), world.house.settings.public_url
    for _ in range(2):  # who only looks spends nothing
        confirm = client.get(link, base_url=base)
        assert confirm.status_code == 200
        assert confirm.headers["Cache-Control"] == "no-store"
        assert "frame-ancestors 'none'" in confirm.headers["Content-Security-Policy"]
    assert client.post(link, base_url=base).status_code == 403
    foreign = client.post(
        link,
        base_url=base,
        data=token_of(confirm.text),
        headers={"Origin": "https://evil.example"},
    )
    assert foreign.status_code == 403
    begun = client.post(link, base_url=base, data=token_of(confirm.text))
    assert (begun.status_code, begun.headers["Location"]) == (303, "/overview")
    cookie = next(c for c in begun.headers.getlist("Set-Cookie") if "session" in c)
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    account = client.get("/account", base_url=base)
    assert (account.status_code, "ops@example.com" in account.text) == (200, True)
    assert world.app.test_client().get(link, base_url=base).status_code == 410
    out = client.post("/sign-out", base_url=base, data=token_of(account.text))
    assert out.headers["Location"] == "/signed-out"
    assert client.get("/signed-out", base_url=base).status_code == 200
    assert client.get("/account", base_url=base).headers["Location"] == "/sign-in?next=/account"


def test_what_is_not_there_is_a_page_for_a_browser_and_a_problem_for_a_program(
    world: World,  # noqa: F811 - the fixture
) -> None:
    client, base = world.app.test_client(), world.house.settings.public_url
    shown = client.get("/nowhere", base_url=base, headers={"Accept": "text/html"})
    assert (shown.status_code, shown.mimetype) == (404, "text/html")
    told = client.get("/nowhere", base_url=base)
    assert (told.status_code, told.mimetype) == (404, "application/problem+json")
    assert client.get("/sign-in/rstl_none", base_url=base).status_code == 404
    assert client.get("/sign-in", base_url="http://other.example").status_code == 421

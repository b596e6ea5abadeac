"""Proving anew who one is: what takes it sends one there; one comes back as the same person or not at all."""

from __future__ import annotations

from datetime import timedelta

import pytest

from restante.audit.listing import list_entries
from restante.identity.operators import Operator, invite
from restante.identity.roles import Role
from restante.identity.sign_in_links import Purpose, Refused, make_link, take_link
from tests.console.oidc_fixtures import provider, settings, visitor, world  # noqa: F401 - fixtures
from tests.console.rogue_provider import RogueProvider
from tests.console.visitor import Visitor, invited
from tests.http.world import World

# ruff: noqa: F811 - fixtures are arguments

OTHERS = "/account/sessions/revoke-others"
AGAIN = "/sign-in/again?next=/account"
KEPT = "/sign-in/again?next=/sign-in/again/kept/"


@pytest.fixture
def who(world: World) -> Operator:
    return invited(world)


def link(world: World, who: Operator) -> str:
    return str(world.house.database.run(lambda s: make_link(s, who, Purpose.SIGN_IN)))


def cookie(visitor: Visitor) -> str:
    found = visitor.client.get_cookie("restante-session", domain="127.0.0.1")
    assert found is not None
    return str(found.value)


def end_others(visitor: Visitor, world: World) -> str:
    """Where the form of the account's page leads, with another session to end."""
    assert Visitor(world, visitor.provider).sign_in().status_code == 303
    visitor.get("/account")
    headers = {"Referer": f"{visitor.base}/account"}
    answer = visitor.client.post(
        OTHERS, base_url=visitor.base, data={"csrf": visitor.token()}, headers=headers
    )
    assert answer.status_code == 303
    return str(answer.headers["Location"])


def test_ten_minutes_after_signing_in_a_proof_is_asked_for(
    visitor: Visitor, world: World, who: Operator
) -> None:
    assert visitor.sign_in().status_code == 303
    assert end_others(visitor, world) == "/account"
    visitor.pass_time(601)
    assert end_others(visitor, world).startswith(KEPT)
    assert "End the other one" in visitor.get("/account").text, "nothing was done"


def test_the_provider_asks_again_and_the_session_goes_on_under_another_cookie(
    visitor: Visitor, world: World, who: Operator
) -> None:
    visitor.sign_in()
    before = cookie(visitor)
    visitor.pass_time(1200)
    visitor.get(AGAIN)
    url = visitor.onward(visitor.post("/sign-in/again/oidc", next="/account"))
    assert "prompt=login" in url
    assert "max_age=0" in url
    back = visitor.come_back(visitor.provider.approve(url))
    assert (back.status_code, back.headers["Location"]) == (303, "/account"), back.text
    assert end_others(visitor, world) == "/account"
    after = cookie(visitor)
    assert after != before
    visitor.client.set_cookie("restante-session", before, domain="127.0.0.1")
    assert not visitor.is_in()
    visitor.client.set_cookie("restante-session", after, domain="127.0.0.1")
    entries = world.house.database.run(lambda s: list_entries(s, who.tenant_id, limit=20)).entries
    assert "session.sudo" in [entry.action for entry in entries]
    visitor.pass_time(12 * 3600 - 1800)
    assert not visitor.is_in(), "idle for too long, and older than twelve hours"


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"sub": "somebody-else"}, 403),
        ({"auth_time": None}, 403),
        ({"auth_time": timedelta(minutes=-5)}, 403),
        ({"auth_time": "now"}, 400),
        ({"nonce": "another"}, 400),
    ],
    ids=str,
)
def test_no_proof(
    visitor: Visitor, world: World, who: Operator, claims: dict[str, object], status: int
) -> None:
    visitor.sign_in()
    before = cookie(visitor)
    visitor.get(AGAIN)
    url = visitor.onward(visitor.post("/sign-in/again/oidc"))
    refused = visitor.come_back(visitor.provider.approve(url, **claims))
    assert refused.status_code == status
    assert cookie(visitor) == before
    assert visitor.is_in(), "the session goes on as it was"


def test_the_session_that_left_is_the_one_that_comes_back(
    visitor: Visitor, world: World, who: Operator
) -> None:
    visitor.sign_in()
    visitor.get(AGAIN)
    told = visitor.provider.approve(visitor.onward(visitor.post("/sign-in/again/oidc")))
    visitor.get("/account")
    visitor.post("/sign-out")
    assert "session is over" in visitor.come_back(told).text
    assert not visitor.is_in()


def test_without_a_session_there_is_nothing_to_prove(visitor: Visitor) -> None:
    assert visitor.get(AGAIN).headers["Location"].startswith("/sign-in")
    visitor.get("/sign-in")
    assert visitor.post("/sign-in/again/oidc").status_code == 403


def test_by_a_link_of_ones_own_that_is_fresh(visitor: Visitor, world: World, who: Operator) -> None:
    """The embedded default; and an operator whose session began with a link keeps to links."""
    path = f"/sign-in/{link(world, who)}"
    visitor.get(path)
    assert visitor.post(path).status_code == 303
    before = cookie(visitor)
    visitor.pass_time(601)
    other = world.house.database.run(
        lambda s: invite(s, who.tenant_id, email="other@example.com", role=Role.OPERATOR)
    )
    foreign, mine = link(world, other), link(world, who)
    for wrong in ("", "nonsense", foreign):
        visitor.get(AGAIN)
        refused = visitor.post("/sign-in/again", link=wrong, next="/account")
        assert (refused.status_code, "no fresh link" in refused.text) == (403, True)
        assert foreign not in refused.text
    assert isinstance(world.house.database.run(lambda s: take_link(s, foreign)), Operator)
    visitor.get(AGAIN)
    proved = visitor.post(
        "/sign-in/again", link=f" {visitor.base}/sign-in/{mine}\n", next="/account"
    )
    assert (proved.status_code, proved.headers["Location"]) == (303, "/account")
    assert cookie(visitor) != before
    assert end_others(visitor, world) == "/account"
    assert isinstance(world.house.database.run(lambda s: take_link(s, mine)), Refused)


@pytest.mark.parametrize("wanted", ["//evil.example", "https://evil.example", "/sign-out", ""])
def test_one_goes_on_to_pages_of_this_console_alone(
    visitor: Visitor, provider: RogueProvider, who: Operator, wanted: str
) -> None:
    visitor.sign_in()
    visitor.get("/sign-in/again", query_string={"next": wanted})
    url = visitor.onward(visitor.post("/sign-in/again/oidc", next=wanted))
    assert visitor.come_back(provider.approve(url)).headers["Location"] == "/overview"

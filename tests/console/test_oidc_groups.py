"""Who is what by the groups that the provider says he is in."""

from __future__ import annotations

import json

import pytest

from restante.audit.listing import list_entries
from restante.identity.operators import disable_operator, find_operator
from restante.identity.roles import Role
from tests.console.oidc_fixtures import provider, visitor, world  # noqa: F401 - fixtures
from tests.console.rogue_provider import CLIENT_ID, CLIENT_SECRET, EMAIL, RogueProvider
from tests.console.visitor import Visitor, invited
from tests.http.world import World

# ruff: noqa: F811 - fixtures are arguments

GROUPS = {
    "on-call": "acme:operator",
    "owners": ["acme:tenant_admin", "rival:operator"],
    "root": "platform_admin",
    "elsewhere": "nowhere:operator",
}


@pytest.fixture
def settings(provider: RogueProvider) -> dict[str, object]:
    return {
        "oidc_issuer": provider.issuer,
        "oidc_client_id": CLIENT_ID,
        "oidc_client_secret": CLIENT_SECRET,
        "oidc_scope": "openid email groups",
        "oidc_groups_claim": "groups",
        "oidc_groups": json.dumps(GROUPS),
    }


def role(world: World, tenant: str = "acme") -> Role:
    tenant_id = world.tenants[tenant]
    return world.house.database.run(lambda s: find_operator(s, EMAIL, tenant_id)).role


def test_a_member_is_an_operator_from_his_first_sign_in_on(visitor: Visitor, world: World) -> None:
    assert "scope=openid+email+groups" in visitor.leave()
    assert visitor.sign_in(groups=["on-call", "lunch"]).status_code == 303
    assert role(world) is Role.OPERATOR
    assert "acme" in visitor.get("/account").text


def test_of_several_roles_the_one_that_may_more(visitor: Visitor, world: World) -> None:
    world.tenant("rival")
    back = visitor.sign_in(groups=["on-call", "owners"])
    assert back.headers["Location"] == "/sign-in/which"
    assert role(world) is Role.TENANT_ADMIN
    assert role(world, "rival") is Role.OPERATOR


def test_what_the_groups_say_holds_from_the_next_sign_in_on(
    visitor: Visitor, world: World, provider: RogueProvider
) -> None:
    visitor.sign_in(groups=["owners"])
    changed = Visitor(world, provider)
    assert changed.sign_in(groups=["on-call"]).status_code == 303
    assert role(world) is Role.OPERATOR
    assert not visitor.is_in(), "a session of the old role ends"
    out = Visitor(world, provider)
    refused = out.sign_in(groups=[])
    assert (refused.status_code, "in no group" in refused.text) == (403, True)
    assert not changed.is_in(), "who is in no group any more has no session either"
    tenant_id = world.tenants["acme"]
    newest = world.house.database.run(lambda s: list_entries(s, tenant_id, limit=1)).entries[0]
    assert newest.action == "session.revoke"


def test_who_has_left_a_tenants_group_does_not_change_to_it(
    visitor: Visitor, world: World, provider: RogueProvider
) -> None:
    world.tenant("rival")
    visitor.sign_in(groups=["owners"])
    there = world.house.database.run(lambda s: find_operator(s, EMAIL, world.tenants["rival"]))
    Visitor(world, provider).sign_in(groups=["on-call"])
    visitor.sign_in(groups=["on-call"])
    visitor.get("/sign-in/which")
    assert visitor.post("/sign-in/which", operator=there.public_id).status_code == 404


@pytest.mark.parametrize(
    "claims",
    [
        {"groups": None},
        {"groups": "lunch"},
        {"groups": {"on-call": True}},
        {"groups": [["on-call"], 1, None]},
        {"groups": ["ON-CALL", "on-call "]},
        {"groups": ["elsewhere"]},
        {"groups": ["on-call"], "email_verified": False},
        {"groups": ["on-call"], "email": None},
    ],
    ids=str,
)
def test_no_member_and_nobody_in_particular_is_nobody(
    visitor: Visitor, world: World, claims: dict[str, object]
) -> None:
    invited(world)  # an invitation counts for nothing where groups decide
    assert visitor.sign_in(**claims).status_code == 403
    assert not visitor.is_in()


def test_userinfo_may_say_them_and_one_word_is_one_group(
    visitor: Visitor, provider: RogueProvider, world: World
) -> None:
    assert visitor.sign_in(userinfo={"groups": ["on-call"]}).status_code == 303
    assert Visitor(world, provider).sign_in(groups="on-call").status_code == 303


def test_groups_do_not_let_in_who_is_disabled_nor_take_over_who_is_another(
    visitor: Visitor, world: World, provider: RogueProvider
) -> None:
    visitor.sign_in(groups=["on-call"])
    thief = Visitor(world, provider).sign_in(sub="another", groups=["on-call"])
    assert (thief.status_code, "another account" in thief.text) == (403, True)
    who = world.house.database.run(lambda s: find_operator(s, EMAIL))
    world.house.database.run(lambda s: disable_operator(s, who.tenant_id, who.id))
    assert visitor.sign_in(groups=["on-call"]).status_code == 403


def test_whom_the_tenant_knows_already_is_not_made_twice(visitor: Visitor, world: World) -> None:
    who = invited(world)
    assert visitor.sign_in(groups=["on-call"]).status_code == 303
    assert world.house.database.run(lambda s: find_operator(s, EMAIL)).id == who.id
    entries = world.house.database.run(lambda s: list_entries(s, who.tenant_id, limit=20)).entries
    assert {"operator.bind", "session.begin"} <= {entry.action for entry in entries}


def test_the_platforms_admin_has_no_tenant(visitor: Visitor, world: World) -> None:
    assert visitor.sign_in(groups=["root"]).status_code == 303
    assert "the platform" in visitor.get("/account").text

"""Signing in through an identity provider that behaves: who is let in, as whom, and where to."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from restante.audit.listing import list_entries
from restante.identity.operators import Operator, disable_operator, find_operator, unbind_operator
from restante.identity.sign_in_links import Purpose, make_link, take_link
from tests.console.oidc_fixtures import provider, settings, visitor, world  # noqa: F401 - fixtures
from tests.console.rogue_provider import EMAIL, SUBJECT, RogueProvider
from tests.console.visitor import Visitor, invited
from tests.http.world import World

# ruff: noqa: F811 - fixtures are arguments


def test_an_invited_person_is_let_in_and_out(visitor: Visitor, world: World) -> None:
    who = invited(world)
    url = visitor.leave("/account")
    asked = dict(parse_qsl(urlsplit(url).query))
    assert asked["code_challenge_method"] == "S256"
    assert asked["response_type"] == "code"
    assert asked["redirect_uri"] == f"{visitor.base}/sign-in/oidc/return"
    assert {"state", "nonce", "code_challenge"} <= asked.keys()
    assert "prompt" not in asked
    back = visitor.come_back(visitor.provider.approve(url))
    assert (back.status_code, back.headers["Location"]) == (303, "/account"), back.text
    assert back.headers["Cache-Control"] == "no-store"
    shown = visitor.get("/account")
    assert EMAIL in shown.text
    cookie = visitor.client.get_cookie("restante-session", domain="127.0.0.1")
    assert cookie is not None
    out = visitor.post("/sign-out")
    assert out.headers["Clear-Site-Data"] == '"cache"'
    assert not visitor.is_in()
    visitor.client.set_cookie("restante-session", cookie.value, domain="127.0.0.1")
    assert not visitor.is_in()
    bound = world.house.database.run(lambda s: find_operator(s, EMAIL))
    assert (bound.id, bound.status.value) == (who.id, "active")
    assert bound.subject_key is not None


def test_verifier_nonce_and_state_are_new_for_each(visitor: Visitor) -> None:
    seen = [dict(parse_qsl(urlsplit(visitor.leave()).query)) for _ in range(3)]
    for name in ("state", "nonce", "code_challenge"):
        assert len({asked[name] for asked in seen}) == 3


@pytest.mark.parametrize("said", ["Ops@Example.com", "OPS@EXAMPLE.COM"])
def test_case_of_an_address_counts_for_nothing(visitor: Visitor, world: World, said: str) -> None:
    invited(world, email="oPs@example.com")
    assert visitor.sign_in(email=said).status_code == 303


@pytest.mark.parametrize(
    "said",
    ["op\u017f@example.com", "ops@e\u00d7ample.com", "ops@example.com ", "ops@example.com\u0000"],
)
def test_an_address_that_only_looks_alike_is_another(
    visitor: Visitor, world: World, said: str
) -> None:
    """The long s in upper case is `S`; spaces at the end are none for a database of MySQL's kind."""
    invited(world)
    assert visitor.sign_in(email=said).status_code == 403
    assert not visitor.is_in()


def test_the_subject_counts_from_then_on_and_not_the_address(
    visitor: Visitor, world: World, provider: RogueProvider
) -> None:
    invited(world)
    assert visitor.sign_in().status_code == 303
    renamed = Visitor(world, provider)
    assert renamed.sign_in(email="other@example.com", email_verified=False).status_code == 303
    assert EMAIL in renamed.get("/account").text
    heir = Visitor(world, provider)
    refused = heir.sign_in(sub="subject-2")
    assert (refused.status_code, "another account" in refused.text) == (403, True)
    assert not heir.is_in()
    who = world.house.database.run(lambda s: find_operator(s, EMAIL))
    world.house.database.run(lambda s: unbind_operator(s, who))
    assert not renamed.is_in()
    assert heir.sign_in(sub="subject-2").status_code == 303


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({"email": "nobody@example.com"}, "invite exactly this address"),
        ({"email_verified": False}, "not verified"),
        ({"email_verified": None}, "not verified"),
        ({"email_verified": "true"}, "not verified"),
        ({"email_verified": 1}, "not verified"),
        ({"email": None}, "names no address"),
        ({"email": ["ops@example.com"]}, "names no address"),
        ({"email": "<script>alert(1)</script>@example.com"}, "&lt;script&gt;"),
    ],
)
def test_nobody_here_is_told_what_was_seen_and_whom_to_ask(
    visitor: Visitor, world: World, claims: dict[str, object], words: str
) -> None:
    invited(world)
    refused = visitor.sign_in(**claims)
    assert refused.status_code == 403
    assert words in refused.text
    assert "acme" not in refused.text
    assert "<script>" not in refused.text
    assert not visitor.is_in()
    assert "prompt=login" in visitor.onward(visitor.post("/sign-in/oidc", another="yes"))
    entry = world.house.database.run(lambda s: list_entries(s, None, limit=1)).entries[0]
    assert (entry.action, entry.outcome) == ("signin.refuse", "refused")
    assert entry.actor_id == (
        str(claims["email"]) if isinstance(claims.get("email"), str) else entry.actor_id
    )


def test_a_disabled_operator_is_let_in_by_nothing(visitor: Visitor, world: World) -> None:
    who = invited(world)
    assert visitor.sign_in().status_code == 303
    world.house.database.run(lambda s: disable_operator(s, who.tenant_id, who.id))
    assert not visitor.is_in()
    assert "disabled" in visitor.sign_in().text
    assert not visitor.is_in()


def test_a_link_that_waited_is_gone_once_he_is_bound(visitor: Visitor, world: World) -> None:
    who = invited(world)
    secret = world.house.database.run(lambda s: make_link(s, who, Purpose.INVITE))
    assert visitor.sign_in().status_code == 303
    assert not isinstance(world.house.database.run(lambda s: take_link(s, secret)), Operator)


def test_what_the_id_token_does_not_say_userinfo_may(
    visitor: Visitor, world: World, provider: RogueProvider
) -> None:
    invited(world)
    told = {"email": EMAIL, "email_verified": True}
    assert visitor.sign_in(email=None, email_verified=None, userinfo=told).status_code == 303
    stranger = Visitor(world, provider)
    wrong = stranger.sign_in(sub="subject-3", email=None, userinfo={**told, "sub": SUBJECT})
    assert wrong.status_code == 400
    mixed = stranger.sign_in(
        sub="subject-3", email=EMAIL, email_verified=None, userinfo={"email_verified": True}
    )
    assert (mixed.status_code, stranger.is_in()) == (403, False)


def test_an_operator_of_two_tenants_chooses(
    visitor: Visitor, world: World, provider: RogueProvider
) -> None:
    world.tenant("rival")
    invited(world)
    there = invited(world, "rival")
    world.tenant("third")
    back = visitor.sign_in("/account")
    assert back.headers["Location"] == "/sign-in/which"
    shown = visitor.get("/sign-in/which")
    assert "rival" in shown.text
    assert "third" not in shown.text
    before = visitor.client.get_cookie("restante-session", domain="127.0.0.1")
    visitor.get("/sign-in/which")
    forged = visitor.post("/sign-in/which", operator="opr_" + "0" * 32)
    assert forged.status_code == 404
    visitor.get("/sign-in/which")
    changed = visitor.post("/sign-in/which", operator=there.public_id)
    assert (changed.status_code, changed.headers["Location"]) == (303, "/account")
    after = visitor.client.get_cookie("restante-session", domain="127.0.0.1")
    assert before is not None
    assert after is not None
    assert before.value != after.value
    assert "rival" in visitor.get("/account").text
    visitor.client.set_cookie("restante-session", before.value, domain="127.0.0.1")
    assert not visitor.is_in()


def test_where_no_provider_is_configured_there_is_no_way_to_it(
    visitor: Visitor, world: World
) -> None:
    object.__setattr__(world.house, "entrance", None)
    assert "/sign-in/oidc" not in visitor.get("/sign-in").text
    assert visitor.get("/sign-in/oidc/return?state=x&code=y").status_code == 404


def test_who_has_one_place_only_is_not_told_of_more(visitor: Visitor, world: World) -> None:
    invited(world)
    visitor.sign_in("/account")
    shown = visitor.get("/sign-in/which").text
    assert "more than one place" not in shown
    assert "only, by this sign-in" in shown

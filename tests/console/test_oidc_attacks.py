"""What somebody may try with a sign-in through a provider: states, browsers, issuers, forms, ways on."""

from __future__ import annotations

import pytest

from restante.audit.listing import list_entries
from tests.console.oidc_fixtures import provider, settings, visitor, world  # noqa: F401 - fixtures
from tests.console.rogue_provider import RogueProvider
from tests.console.visitor import Visitor, invited
from tests.http.world import World

# ruff: noqa: F811 - fixtures are arguments


@pytest.fixture(autouse=True)
def who(world: World) -> None:
    invited(world)


def last_reason(world: World) -> str:
    return str(world.house.database.run(lambda s: list_entries(s, None, limit=1)).entries[0].reason)


def test_a_state_is_good_once_and_only_one_that_was_given(visitor: Visitor) -> None:
    told = visitor.provider.approve(visitor.leave())
    assert visitor.come_back({**told, "state": "x" * 43}).status_code == 400
    assert visitor.come_back({"code": told["code"]}).status_code == 400
    assert visitor.come_back({**told, "state": "x" * 10_000}).status_code == 400
    assert visitor.come_back(told).status_code == 303
    again = visitor.come_back(told)
    assert (again.status_code, "over" in again.text) == (400, True)


def test_a_state_ends_after_ten_minutes(visitor: Visitor, world: World) -> None:
    told = visitor.provider.approve(visitor.leave())
    world.pass_time(601)
    assert visitor.come_back(told).status_code == 400
    assert not visitor.is_in()


def test_another_browser_with_the_attackers_state_stays_out(
    visitor: Visitor, world: World, provider: RogueProvider
) -> None:
    """Login CSRF: the victim is made to open the attacker's answer; the attacker may still use it himself."""
    told = provider.approve(visitor.leave())
    victim, naked = Visitor(world, provider), Visitor(world, provider)
    victim.get("/sign-in")
    for browser in (victim, naked):
        refused = browser.come_back(told)
        assert (refused.status_code, "another browser" in refused.text) == (400, True)
        assert not browser.is_in()
    assert visitor.come_back(told).status_code == 303


def test_a_code_of_another_flow_does_not_fit_its_verifier(
    visitor: Visitor, provider: RogueProvider
) -> None:
    first, second = (provider.approve(visitor.leave()) for _ in range(2))
    assert visitor.come_back({**second, "code": first["code"]}).status_code == 400
    assert not visitor.is_in()


def test_parameters_that_come_twice_are_none(visitor: Visitor) -> None:
    told = visitor.provider.approve(visitor.leave())
    path = f"/sign-in/oidc/return?state={told['state']}&code={told['code']}&code=other"
    assert visitor.get(path).status_code == 400


def test_an_answer_of_another_issuer_is_no_answer(
    visitor: Visitor, provider: RogueProvider
) -> None:
    """RFC 9207: a wrong `iss` always, a missing one where the provider says that it sends it."""
    told = provider.approve(visitor.leave())
    assert visitor.come_back({**told, "iss": "https://evil.example"}).status_code == 400
    told = provider.approve(visitor.leave())
    assert visitor.come_back({**told, "iss": provider.issuer}).status_code == 303


def test_a_provider_that_names_itself_has_to(visitor: Visitor, provider: RogueProvider) -> None:
    provider.discovery["authorization_response_iss_parameter_supported"] = True
    assert visitor.come_back(provider.approve(visitor.leave())).status_code == 400
    told = provider.approve(visitor.leave())
    assert visitor.come_back({**told, "iss": provider.issuer}).status_code == 303


def test_what_the_provider_refuses_is_said(visitor: Visitor, world: World) -> None:
    told = visitor.provider.approve(visitor.leave())
    refused = visitor.come_back({"state": told["state"], "error": "access_denied"})
    assert (refused.status_code, "did not let you in" in refused.text) == (403, True)
    assert "access_denied" in last_reason(world)


def test_a_session_from_before_is_replaced_and_ended(visitor: Visitor, world: World) -> None:
    assert visitor.sign_in().status_code == 303
    before = visitor.client.get_cookie("restante-session", domain="127.0.0.1")
    assert before is not None
    assert visitor.sign_in().status_code == 303
    after = visitor.client.get_cookie("restante-session", domain="127.0.0.1")
    assert after is not None
    assert after.value != before.value
    visitor.client.set_cookie("restante-session", before.value, domain="127.0.0.1")
    assert not visitor.is_in()
    visitor.client.set_cookie("restante-session", "fixed-by-somebody", domain="127.0.0.1")
    assert visitor.sign_in().status_code == 303
    chosen = visitor.client.get_cookie("restante-session", domain="127.0.0.1")
    assert chosen is not None
    assert chosen.value != "fixed-by-somebody"


def test_a_form_of_another_site_begins_nothing(visitor: Visitor) -> None:
    visitor.get("/sign-in")
    for form in ({}, {"csrf": "0" * 64}):
        answer = visitor.client.post("/sign-in/oidc", base_url=visitor.base, data=form)
        assert answer.status_code == 403
    foreign = {"Origin": "https://evil.example"}
    sent = {"csrf": visitor.token()}
    answer = visitor.client.post("/sign-in/oidc", base_url=visitor.base, data=sent, headers=foreign)
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "wanted",
    [
        *("//evil.example", "///evil.example", "/\\evil.example", "\\\\evil.example"),
        *(
            "https:evil.example",
            "https:/evil.example",
            "http://evil.example",
            "javascript:alert(1)",
        ),
        *(
            "data:text/html,x",
            "/\t/evil.example",
            " //evil.example",
            "/%0d%0aLocation:%20//evil.example",
        ),
        *(
            "https://127.0.0.1:8000@evil.example",
            "//127.0.0.1:8000:443@evil.example",
            "/%2f/evil.example",
        ),
        *(
            "/nowhere",
            "/sign-out",
            "/api/v1/events",
            "/account/../../evil",
            "/account#//evil.example",
        ),
    ],
)
def test_one_goes_on_to_pages_of_this_console_alone(visitor: Visitor, wanted: str) -> None:
    visitor.get("/sign-in", query_string={"next": wanted})
    url = visitor.onward(visitor.post("/sign-in/oidc"))
    back = visitor.come_back(visitor.provider.approve(url))
    assert back.headers["Location"] == "/overview"


def test_guessing_from_one_address_ends_after_twenty(visitor: Visitor, world: World) -> None:
    told = visitor.provider.approve(visitor.leave())
    for number in range(20):
        assert visitor.come_back({"code": "x", "state": f"guess-{number}"}).status_code == 400
    limited = visitor.come_back(told)
    assert limited.status_code == 429
    assert int(limited.headers["Retry-After"]) > 0
    world.pass_time(61)
    assert visitor.come_back(told).status_code == 303


def test_departures_are_limited_too(visitor: Visitor) -> None:
    visitor.get("/sign-in")
    token = {"csrf": visitor.token()}
    codes = [
        visitor.client.post("/sign-in/oidc", base_url=visitor.base, data=token).status_code
        for _ in range(61)
    ]
    assert codes == [200] * 60 + [429]

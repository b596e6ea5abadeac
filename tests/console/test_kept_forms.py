"""A form that is older than the fresh proof it takes: what was typed is there afterwards, and no secret."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import select

from blueprints.access import stated_by
from blueprints.console.kept import WHAT
from restante.identity.operators import Operator
from restante.identity.roles import RULES, Role
from restante.identity.sign_in_links import Purpose, make_link
from restante.storage.tables.operators import form_draft
from tests.console.browsing import Browser, actions, operator_of, signed_in
from tests.console.oidc_fixtures import provider, settings, visitor  # noqa: F401 - fixtures
from tests.console.test_web_ui_forms import CONSOLE
from tests.console.visitor import Visitor, invited
from tests.http.world import World, verbs

# ruff: noqa: F811 - fixtures are arguments

INVITE = "/members/invite"


@pytest.fixture
def who(world: World) -> Operator:
    return operator_of(world, role=Role.TENANT_ADMIN)


@pytest.fixture
def late(world: World, who: Operator) -> Browser:
    """An admin whose proof is no longer fresh, before a form that he has filled in."""
    browser = signed_in(world, who)
    browser.get(INVITE)
    world.pass_time(601)
    return browser


def proves(browser: Browser, who: Operator) -> None:
    """On the page that asks for it, by a fresh link, and on to where that leads."""
    browser.follow()
    link = browser.world.house.database.run(lambda s: make_link(s, who, Purpose.SIGN_IN))
    browser.send("/sign-in/again", link=str(link))
    assert browser.answer.status_code == 303
    browser.follow()


def test_what_was_typed_is_there_after_the_proof_and_is_sent_by_one_press(
    late: Browser, who: Operator, world: World
) -> None:
    late.send(INVITE, email="new@example.com", role="tenant_admin")
    there = late.answer.headers["Location"]
    assert there.startswith("/sign-in/again?next=/sign-in/again/kept/")
    assert "example" not in there
    proves(late, who)
    assert late.heading == "Go on where you were"
    assert "invite" not in str(actions(world)[-1]), "nothing was done so far"
    form = late.page.form(INVITE)
    assert (form["email"], form["role"]) == ("new@example.com", "tenant_admin")
    assert "Invite the member" in late.page.buttons()
    late.send(INVITE, email="newer@example.com")  # it may still be changed
    assert "newer@example.com" in late.page.text
    assert ("operator.invite", "done") in actions(world)


def test_the_reason_of_a_decision_stays_and_there_is_a_way_out(
    late: Browser, who: Operator, world: World
) -> None:
    path = f"/callbacks/cb_{'0' * 32}/approve"
    base = world.house.settings.public_url
    form = {"csrf": late.token(), "why": "agreed & <checked>"}
    late.post(path, form, headers={"Referer": f"{base}/members"})
    late.follow()
    assert "What you typed is kept for half an hour" in late.page.text
    late.post(path, form, headers={"Referer": f"{base}/members"})
    proves(late, who)
    assert late.page.form(path)["why"] == "agreed & <checked>"
    assert late.page.one("a", href="/members").text == "Leave it, change nothing"


def test_changes_of_scopes_are_shown_anew_before_they_are_applied(
    late: Browser, who: Operator, world: World
) -> None:
    agent = world.agent("acme", "anna", verbs("main"))
    form = {"csrf": late.token(), "change": f"-{agent.id}.agent:main:publish", "why": "reads along"}
    late.post("/scopes/apply", form)
    proves(late, who)
    late.send("/scopes/preview")
    assert late.answer.status_code == 200
    assert late.page.form("/scopes/apply")["why"] == "reads along"
    late.send("/scopes/apply", change=form["change"])
    assert late.answer.headers["Location"] == "/scopes?applied=1"


@pytest.mark.parametrize(
    "secret",
    [{"public_jwk": '{"kty": "OKP", "d": "hush"}'}, {"secret": "hush"}, {"x": "hush"}],
    ids=str,
)
def test_a_form_with_a_field_that_is_not_known_to_be_none_is_no_secret_is_not_kept(
    late: Browser, world: World, secret: dict[str, str]
) -> None:
    path = f"/inboxes/{world.agent('acme', 'anna', verbs('main')).id}/credentials/key"
    late.post(path, {"csrf": late.token(), **secret})
    assert "kept" not in late.answer.headers["Location"]
    rows = world.house.database.run(lambda s: s.connection().execute(select(form_draft)).all())
    assert rows == []


def test_it_is_of_one_session_and_keeps_no_token(late: Browser, world: World) -> None:
    late.send(INVITE, email="new@example.com")
    (row,) = world.house.database.run(lambda s: s.connection().execute(select(form_draft)).all())
    assert late.token().encode() not in row.fields
    path = f"/sign-in/again/kept/{row.draft_id.hex()}"
    assert late.get(path).status_code == 200
    other = signed_in(world, email="b@example.com", role=Role.TENANT_ADMIN)
    for wrong in (path, "/sign-in/again/kept/x", f"/sign-in/again/kept/{'0' * 32}"):
        assert other.get(wrong).status_code == 404, wrong
    assert late.post(INVITE, {"email": "c@example.com"}).status_code == 403, "not without its token"
    assert (
        len(world.house.database.run(lambda s: s.connection().execute(select(form_draft)).all()))
        == 1
    )


def test_through_the_provider_too(visitor: Visitor, world: World) -> None:
    invited(world)
    visitor.sign_in()
    visitor.get("/account")
    visitor.pass_time(601)
    sent = visitor.post(INVITE, email="new@example.com", role="operator")
    there = sent.headers["Location"]
    visitor.get(there)
    wanted = parse_qs(urlsplit(there).query)["next"][0]
    url = visitor.onward(visitor.post("/sign-in/again/oidc", next=wanted))
    back = visitor.come_back(visitor.provider.approve(url))
    assert back.headers["Location"] == wanted
    assert 'value="new@example.com"' in visitor.get(wanted).text


def test_every_form_that_takes_a_proof_is_said_in_words(world: World) -> None:
    taking = {
        rule.rule
        for rule in world.app.url_map.iter_rules()
        if rule.endpoint.startswith(CONSOLE)
        and "POST" in (rule.methods or ())
        and (access := stated_by(world.app.view_functions[rule.endpoint])) is not None
        and access.right is not None
        and RULES[access.right].anew
    }
    assert taking | {"/account/sessions/revoke-others"} == WHAT.keys()

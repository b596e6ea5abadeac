"""Forms: whose they are, and where signing in leads. The names are those of the list of web cases."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select
from werkzeug.routing import Rule

from blueprints.access import stated_by
from blueprints.console import BLUEPRINTS
from restante.identity.roles import Role, may
from restante.identity.sign_in_links import Purpose, make_link
from restante.storage.tables import metadata
from tests.console.browsing import Browser, actions, audited, device, operator_of, signed_in
from tests.http.world import World, verbs

UNSAFE = ("POST", "PUT", "PATCH", "DELETE")
CONSOLE = tuple(f"{blueprint.name}." for blueprint in BLUEPRINTS)


def routes(world: World, *methods: str) -> list[tuple[Rule, str]]:
    return [
        (rule, method)
        for rule in world.app.url_map.iter_rules()
        for method in sorted((rule.methods or set()) & set(methods))
    ]


def filled(rule: Rule) -> str:
    """An address of the rule; the ids are nobody's."""
    path = rule.rule
    for argument in rule.arguments:
        start = path.index("<")
        path = path[:start] + f"x-{argument}" + path[path.index(">") + 1 :]
    return path


def rows(world: World, *left_out: str) -> dict[str, list[Any]]:
    """All that is in the database, but what says that a session was seen."""
    return world.house.database.run(
        lambda s: {
            table.name: sorted(map(repr, s.connection().execute(select(table)).all()))
            for table in metadata.sorted_tables
            if table.name not in left_out
        }
    )


def test_wu_001_a_request_of_htmx_needs_the_token_like_any_other(world: World) -> None:
    browser = signed_in(world)
    waiting = device(world, world.agent("acme", "a", verbs("main")).id)
    before = rows(world, "audit_entry", "audit_chain")
    form = {"user_code": waiting.user_code, "same": "yes"}
    answer = browser.post("/device/approve", form, headers={"HX-Request": "true"})
    assert (answer.status_code, answer.mimetype) == (403, "text/html")
    assert rows(world, "audit_entry", "audit_chain") == before
    assert actions(world)[-1] == ("request.refuse", "refused")


def test_wu_002_a_token_is_of_one_session(world: World) -> None:
    """Not another operator's, not the one of before the sign-in, not that of an ended session."""
    who = operator_of(world)
    mine, other = signed_in(world, who), signed_in(world, email="b@example.com")
    fresh = Browser(world)
    fresh.signs_in(who)
    before = fresh.page.all("input", name="csrf")
    old = mine.token()
    mine.signs_in(who)
    for token in (other.token(), old, *(one.attributes["value"] for one in before), "", "é" * 64):
        answer = mine.post("/sign-out", {"csrf": token})
        assert answer.status_code == 403, token
    assert mine.get("/account").status_code == 200
    assert mine.post("/sign-out", {"csrf": mine.token()}).status_code == 303


def test_wu_002_the_token_of_the_visit_is_not_that_of_the_session(world: World) -> None:
    who = operator_of(world)
    secret = world.house.database.run(lambda s: make_link(s, who, Purpose.SIGN_IN))
    browser = Browser(world)
    browser.get(f"/sign-in/{secret}")
    token = browser.page.one("input", name="csrf").attributes["value"]
    assert browser.post(f"/sign-in/{secret}", {"csrf": token}).status_code == 303
    assert browser.post("/sign-out", {"csrf": token}).status_code == 403


def test_wu_003_every_unsafe_route_wants_a_token(world: World) -> None:
    """Those of the console a form's, and all others a bearer's or a client's: a cookie is nothing there."""
    browser = signed_in(world)
    tried = 0
    for rule, method in routes(world, *UNSAFE):
        access = stated_by(world.app.view_functions[rule.endpoint])
        before = rows(world, "audit_entry", "audit_chain", "failed_attempt")
        answer = browser.ask(method, filled(rule))
        if rule.endpoint.startswith(CONSOLE):
            # without an identity provider there is none to leave for
            expected = {404} if rule.rule == "/sign-in/oidc" else {403}
        else:
            assert access is not None
            expected = {400, 401, 405} if access.public else {401}
        assert answer.status_code in expected, (method, rule.rule)
        assert rows(world, "audit_entry", "audit_chain", "failed_attempt") == before, rule.rule
        tried += rule.endpoint.startswith(CONSOLE)
    assert tried >= 7


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
    ids=str,
)
def test_wu_004_a_form_of_another_site_is_refused_with_a_good_token(
    world: World, headers: dict[str, str]
) -> None:
    browser = signed_in(world)
    good = {"csrf": browser.token()}
    assert browser.post("/sign-out", good, headers=headers).status_code == 403
    assert browser.get("/account").status_code == 200
    own = {"Origin": world.house.settings.public_url, "Sec-Fetch-Site": "same-origin"}
    assert browser.post("/sign-out", good, headers=own).status_code == 303


def test_wu_005_reading_changes_nothing(world: World) -> None:
    role = Role.TENANT_ADMIN
    browser = signed_in(world, role=role)
    device(world, world.agent("acme", "a", verbs("main")).id)
    before = rows(world)
    for rule, _ in routes(world, "GET"):
        access = stated_by(world.app.view_functions[rule.endpoint])
        right = access.right if access else None
        # what is refused for the role is in the audit
        if not rule.endpoint.startswith(CONSOLE) or (right and not may(role, right)):
            continue
        for method in ("GET", "HEAD", "GET", "HEAD"):
            answer = browser.ask(method, filled(rule))
            assert answer.status_code in (200, 303, 404, 405, 422), rule.rule
    assert rows(world) == before


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example",
        "///evil.example",
        "////evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "https:evil.example",
        "https:/evil.example",
        "https:///evil.example",
        "http://evil.example",
        "javascript:alert(1)",
        "data:text/html,x",
        "/\t/evil.example",
        " //evil.example",
        "/%0d%0aLocation:%20//evil.example",
        "/\r\nLocation: //evil.example",
        "https://inbox.example.com@evil.example",
        "https://inbox.example.com.evil.example",
        "//inbox.example.com:443@evil.example",
        "/account/../../evil",
        "/account//evil.example",
        "/nowhere",
        "/static/console.css",
        "/sign-out",
        "/device?user_code=" + "x" * 300,
        "/device?a=\\\\evil",
        "",
    ],
)
def test_wu_012_signing_in_leads_nowhere_else(world: World, wanted: str) -> None:
    browser, who = Browser(world), operator_of(world)
    answer = browser.get("/sign-in", query_string={"next": wanted})
    assert answer.status_code == 200
    assert browser.cookie("restante-next") is None
    browser.client.set_cookie("restante-next", wanted, domain="127.0.0.1")
    assert browser.signs_in(who).headers["Location"] == "/overview"


@pytest.mark.parametrize("wanted", ["/device", "/device?user_code=BCDFG-HJKLM&x=%20", "/account"])
def test_wu_012_signing_in_leads_to_a_page_of_ours(world: World, wanted: str) -> None:
    browser = Browser(world)
    browser.get("/sign-in", query_string={"next": wanted})
    begun = browser.signs_in(operator_of(world))
    assert begun.headers["Location"] == wanted
    assert urlsplit(begun.headers["Location"]).netloc == ""
    assert browser.cookie("restante-next") is None


def test_wu_012_the_way_back_of_a_page_is_a_page_of_ours(world: World) -> None:
    """Neither Referer nor what stands in the address leads away."""
    browser = Browser(world)
    for path in ("//evil.example/account", "/account?next=//evil.example", "/device?user_code=%5C"):
        answer = browser.get(path, headers={"Referer": "https://evil.example/"})
        lead = answer.headers.get("Location", "/")
        assert lead.startswith("/")
        assert not lead.startswith("//")
    signed = signed_in(world)
    out = signed.post("/sign-out", {"csrf": signed.token(), "next": "//evil.example"})
    assert out.headers["Location"] == "/signed-out"


def test_wu_040_members_that_no_form_has_are_ignored(world: World) -> None:
    rival_tenant = world.tenant("rival", "main")
    browser = signed_in(world)
    dock = world.agent("acme", "dock", verbs("main"))
    waiting = device(world, dock.id)
    form = {
        "csrf": browser.token(),
        "user_code": waiting.user_code,
        "same": "yes",
        "tenant_id": rival_tenant.hex(),
        "role": "tenant_admin",
        "status": "spent",
        "scopes[]": "agent:main:publish",
        "asked_scopes": "agent:main:publish",
        "expires_at": "2099-01-01",
        "decided_by": "opr_" + "0" * 32,
    }
    assert browser.post("/device/approve", form).status_code == 200
    entry = audited(world)[-1]
    assert (entry.action, entry.reason) == (
        "device.approve",
        "shed at 192.0.2.1: agent:main:claim agent:main:read",
    )
    assert "operator" in browser.get("/account").text
    assert "tenant admin" not in browser.answer.text

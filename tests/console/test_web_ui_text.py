"""Text of others on pages: shown as it is, and nothing of it is ever an element, a link or a header."""

from __future__ import annotations

import pytest

from blueprints.console.foreign_text import foreign
from restante.identity.agents import create_agent
from restante.identity.operators import find_operator, invite
from restante.identity.roles import Role
from restante.identity.tenants import create_tenant
from tests.console.browsing import Browser, audited, device, operator_of, signed_in
from tests.console.html import Element, parse
from tests.http.world import World, verbs

ATTACKS = [
    '{"note":"</script><script>alert(1)</script>"}',
    '" onmouseover="alert(1)" x="',
    '<div hx-get="/t/acme/agents/1/disable" hx-trigger="load"></div>',
    '<p data-hx-post="/t/acme/keys/rotate" data-hx-trigger="load">',
    '<b hx-on::load="alert(1)" hx-on:click="alert(1)">x</b>',
    "<svg/onload=alert(1)><img src=x onerror=alert(1)>",
    "&lt;script&gt;alert(1)&lt;/script&gt; &#x3c;img src=x&#x3e;",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "{{7*7}} {% raw %} ${7*7} #{7*7} <%= 7*7 %>",
    "javascript:alert(document.domain)",
    '<style>@import "//evil.example"</style><base href="//evil.example/">',
    '<div hx-swap-oob="true" id="csrf">x</div>',
    '<meta http-equiv="refresh" content="0;url=//evil.example">',
    '<meta name="htmx-config" content=\'{"selfRequestsOnly":false}\'>',
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
]


def skeleton(page: Element) -> list[tuple[str, tuple[str, ...]]]:
    """The elements of a page with the names of their attributes."""
    return [(one.tag, tuple(sorted(one.attributes))) for one in page]


def pages(world: World, browser: Browser, *, text: str, agent: str) -> dict[str, Element]:
    """Every page on which a device, an agent or a browser says something of itself."""
    seen = {}
    named = device(world, agent, host=text, user_agent=text)
    unnamed = device(world, host=text, user_agent=text)
    browser.get("/device", query_string={"user_code": text})
    seen["ask"] = browser.page
    browser.send("/device")
    seen["unknown"] = browser.page
    browser.get("/device")
    browser.send("/device", user_code=named.user_code)
    seen["review"] = browser.page
    browser.send("/device/approve", same="yes")
    seen["approved"] = browser.page
    browser.get("/device")
    browser.send("/device", user_code=unnamed.user_code)
    seen["choice"] = browser.page
    browser.send("/device", named=text)
    seen["filtered"] = browser.page
    browser.get("/account")
    seen["account"] = browser.page
    return seen


@pytest.mark.parametrize("attack", ATTACKS)
def test_wu_027_markup_of_others_is_text(world: World, attack: str) -> None:
    """Compared with the pages of harmless text: the same elements with the same attributes."""
    skeletons = []
    for name, text in (("harmless", "harmless"), (attack[:100], attack)):
        tenant = world.house.database.run(
            lambda s, n=name: create_tenant(s, n, require_signatures=False)
        )
        made = world.house.database.run(
            lambda s, n=name, t=tenant.id: create_agent(s, t, name=n, grants=())
        )
        world.tenants[name] = tenant.id
        email = "a@example.com" if text == "harmless" else "<svg/onload=x>@b.example"
        who = world.house.database.run(
            lambda s, t=tenant.id, e=email: invite(s, t, email=e, role=Role.OPERATOR)
        )
        browser = Browser(world, address="192.0.2.9" if text == "harmless" else "192.0.2.10")
        browser.client.environ_base["HTTP_USER_AGENT"] = text
        browser.signs_in(who)
        seen = pages(world, browser, text=text, agent="agt_" + made.id.hex())
        skeletons.append({page: skeleton(one) for page, one in seen.items()})
        if text == attack:
            shown = " ".join(attack.split())
            assert shown[:80] in seen["review"].text
            assert shown[:80] in seen["choice"].text
            assert shown in seen["account"].text
            assert seen["ask"].one("input", name="user_code").attributes["value"] == text[:64]
    for page, one in skeletons[0].items():
        assert skeletons[1][page] == one, page


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("invoice\u202egpj.exe", "invoice\\u202egpj.exe"),
        ("a\u2066b\u2069", "a\\u2066b\\u2069"),
        ("a\u200bb\ufeff", "a\\u200bb\\ufeff"),
        ("a\u0301\u0301\u0301\u0301\u0301b", "a\u0301\u0301\u0301\\u0301\\u0301b"),
        ("a\x00\x1b[31m\r\nb", "a\\u0000\\u001b[31m\\u000d\\u000ab"),
        ("\u2028\U000e0001", "\\u2028\\U000e0001"),
        ("\ud800", "\\ud800"),
        ("x" * 300, "x" * 200 + "…"),
    ],
)
def test_wu_029_what_cannot_be_seen_is_written_out(text: str, shown: str) -> None:
    page = parse(str(foreign(text)))
    assert page.one("bdi").children == [shown]


def test_wu_029_names_of_others_stand_by_themselves(world: World) -> None:
    """Each in an element of its own, so that what runs the other way turns no neighbour."""
    dock = world.agent("acme", "שלום", verbs("main"))
    browser = signed_in(world)
    waiting = device(world, dock.id, host="מארח", user_agent="תוכנה")
    browser.get("/device")
    browser.send("/device", user_code=waiting.user_code)
    isolated = [one.text for one in browser.page.all("bdi")]
    assert {"acme", "שלום", "מארח", "תוכנה"} <= set(isolated)


def test_wu_030_what_a_device_says_is_bounded(world: World) -> None:
    browser = signed_in(world)
    waiting = device(world, host="h" * 100_000, user_agent="u" * 1_000_000)
    browser.get("/device")
    browser.send("/device", user_code=waiting.user_code)
    assert browser.answer.status_code == 200
    assert len(browser.answer.data) < 10_000


def test_wu_032_no_text_of_others_is_in_a_header(world: World) -> None:
    attack = 'x"\r\nHX-Redirect: //evil.example'
    browser = signed_in(world)
    waiting = device(world, host=attack, user_agent=attack)
    for path, data in (
        ("/device", {"user_code": waiting.user_code, "named": attack}),
        ("/device", {"user_code": attack}),
        ("/device/refuse", {"user_code": waiting.user_code}),
    ):
        browser.post(path, {**data, "csrf": browser.token()})
        assert not [v for _, v in browser.answer.headers if "evil" in v]
        assert "HX-Redirect" not in browser.answer.headers
    browser.get("/device", query_string={"user_code": attack})
    assert not [v for _, v in browser.answer.headers if "evil" in v]
    out = Browser(world).get("/device", query_string={"user_code": attack})
    assert out.headers["Location"] == (
        "/sign-in?next=/device%3Fuser_code%3Dx%2522%250D%250AHX-Redirect%3A%2B//evil.example"
    )


def test_wu_050_an_entry_of_the_audit_is_one_line(world: World) -> None:
    host = "x\n2026-01-01 admin deleted tenant \x1b[31m\u2028"
    browser = signed_in(world)
    waiting = device(world, host=host)
    browser.get("/device")
    browser.send("/device", user_code=waiting.user_code)
    browser.send("/device/refuse")
    entry = audited(world)[-1]
    assert entry.action == "device.deny"
    assert entry.reason == "x 2026-01-01 admin deleted tenant [31m at 192.0.2.1"


def test_wu_049_no_secret_is_on_a_page_or_in_the_audit(world: World) -> None:
    """Neither of the session, nor of the link, nor the codes of the device."""
    who = operator_of(world)
    browser = Browser(world)
    browser.signs_in(who)
    cookie = str(browser.cookie())
    waiting = device(world, world.agent("acme", "a", verbs("main")).id)
    texts = []
    for step in ("/device", "/device/approve"):
        browser.get("/device")
        browser.send("/device", user_code=waiting.user_code)
        texts.append(browser.answer.text)
        if step == "/device/approve":
            browser.send(step, same="yes")
            texts.append(browser.answer.text)
    browser.get("/account")
    texts.append(browser.answer.text)
    for text in texts:
        assert cookie not in text
        assert waiting.device_code not in text
    told = repr(audited(world))
    for secret in (
        cookie,
        waiting.device_code,
        waiting.user_code,
        waiting.user_code.replace("-", ""),
    ):
        assert secret not in told
    assert world.house.database.run(lambda s: find_operator(s, who.email)).id == who.id
